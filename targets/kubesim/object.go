package kubesim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// object is the content of an API object as it travels. One that is in the store is never changed, only replaced.
type object = map[string]any

func at(o object, path ...string) any {
	var v any = o
	for _, p := range path {
		m, ok := v.(object)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

func str(o object, path ...string) string {
	s, _ := at(o, path...).(string)
	return s
}

func sub(o object, path ...string) object {
	m, _ := at(o, path...).(object)
	return m
}

func set(o object, v any, path ...string) {
	for _, p := range path[:len(path)-1] {
		m, ok := o[p].(object)
		if !ok {
			m = object{}
			o[p] = m
		}
		o = m
	}
	if v == nil {
		delete(o, path[len(path)-1])
		return
	}
	o[path[len(path)-1]] = v
}

func name(o object) string      { return str(o, "metadata", "name") }
func namespace(o object) string { return str(o, "metadata", "namespace") }
func uid(o object) string       { return str(o, "metadata", "uid") }
func dying(o object) bool       { return at(o, "metadata", "deletionTimestamp") != nil }

func annotation(o object, key string) string { return str(o, "metadata", "annotations", key) }

func clone(o object) object { return runtime.DeepCopyJSON(o) }

func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = e
	}
	return out
}

// objects reads a list of objects, leaving out whatever is none.
func objects(v any) []object {
	list, _ := v.([]any)
	out := make([]object, 0, len(list))
	for _, e := range list {
		if m, ok := e.(object); ok {
			out = append(out, m)
		}
	}
	return out
}

func finalizers(o object) []string { return texts(at(o, "metadata", "finalizers")) }

func setFinalizer(o object, f string, on bool) {
	have := finalizers(o)
	switch {
	case on && !slices.Contains(have, f):
		have = append(have, f)
	case !on:
		have = slices.DeleteFunc(have, func(s string) bool { return s == f })
	}
	if len(have) == 0 {
		set(o, nil, "metadata", "finalizers")
		return
	}
	set(o, anys(have), "metadata", "finalizers")
}

// owned makes an object belong to owner as its controller.
func owned(o object, owner object) object {
	set(o, []any{object{
		"apiVersion": str(owner, "apiVersion"), "kind": str(owner, "kind"), "name": name(owner), "uid": uid(owner),
		"controller": true, "blockOwnerDeletion": true,
	}}, "metadata", "ownerReferences")
	return o
}

func ownedBy(o object, owner string) bool {
	return slices.ContainsFunc(objects(at(o, "metadata", "ownerReferences")), func(r object) bool { return r["uid"] == owner })
}

// typed decodes into the Go type of the API.
func typed[T any](o object) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, out); err != nil {
		return nil, err
	}
	return out, nil
}

// untyped turns a value of a Go API type into an object, dropping what is empty.
func untyped(v any) object {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("kubesim: encode %T: %v", v, err))
	}
	o, err := decode(raw)
	if err != nil {
		panic(fmt.Sprintf("kubesim: decode %T: %v", v, err))
	}
	return o
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// condition sets one condition in place; the transition time moves only when the status changes.
func condition(list []object, now time.Time, kind, status, reason, message string) []object {
	c := object{"type": kind, "status": status, "lastTransitionTime": stamp(now)}
	if reason != "" {
		c["reason"] = reason
	}
	if message != "" {
		c["message"] = message
	}
	for i, old := range list {
		if old["type"] == kind {
			if old["status"] == status {
				c["lastTransitionTime"] = old["lastTransitionTime"]
			}
			for _, k := range []string{"lastHeartbeatTime", "lastProbeTime"} {
				if v, ok := old[k]; ok {
					c[k] = v
				}
			}
			list = slices.Clone(list)
			list[i] = c
			return list
		}
	}
	return append(slices.Clone(list), c)
}

func conditionStatus(o object, kind string) string {
	for _, c := range objects(at(o, "status", "conditions")) {
		if c["type"] == kind {
			s, _ := c["status"].(string)
			return s
		}
	}
	return ""
}

func newObject(k *kind, ns, n string) object {
	m := object{"name": n}
	if !k.global {
		m["namespace"] = ns
	}
	return object{"apiVersion": k.apiVersion(), "kind": k.name, "metadata": m}
}

func labels(o object) map[string]string {
	out := map[string]string{}
	for k, v := range sub(o, "metadata", "labels") {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

func textMap(m map[string]string) object {
	out := object{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out[k] = m[k]
	}
	return out
}

func decodeInto(raw []byte, v any) error {
	if len(raw) == 0 || v == nil {
		return nil
	}
	return json.Unmarshal(raw, v)
}

type deleteOptions = metav1.DeleteOptions

func base64Text(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// lastByte derives the last part of an address from a name, stable over restarts.
func lastByte(s string) string {
	h := fnv.New32a()
	h.Write([]byte(s))
	return strconv.Itoa(int(h.Sum32()%250) + 2)
}

func shortHash(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return strconv.FormatUint(h.Sum64(), 16)
}
