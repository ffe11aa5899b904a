package kubevirt

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

// missing lists where have does not hold what want says, one line each. What have holds beside it is left alone: the
// cluster adds defaults, and others may add fields.
func missing(path string, want, have any) []string {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			if len(w) == 0 && have == nil {
				// An empty object says "this kind, with defaults"; it is missing only where the key is.
				return []string{fmt.Sprintf("%s: missing", path)}
			}
			return []string{fmt.Sprintf("%s: is %s, planned %s", path, is(have), short(want))}
		}
		var diff []string
		for _, k := range slices.Sorted(maps.Keys(w)) {
			at := join(path, k)
			v, ok := h[k]
			if !ok {
				diff = append(diff, fmt.Sprintf("%s: missing, planned %s", at, short(w[k])))
				continue
			}
			diff = append(diff, missing(at, w[k], v)...)
		}
		return diff
	case []any:
		h, _ := have.([]any)
		return missingItems(path, w, h)
	}
	if same(want, have) {
		return nil
	}
	return []string{fmt.Sprintf("%s: is %s, planned %s", path, is(have), short(want))}
}

func missingItems(path string, want, have []any) []string {
	var diff []string
	for i, w := range want {
		at := fmt.Sprintf("%s[%d]", path, i)
		name := nameOf(w)
		j := i
		if name != "" {
			at = path + "[" + name + "]"
			j = slices.IndexFunc(have, func(h any) bool { return nameOf(h) == name })
		}
		if j < 0 || j >= len(have) {
			diff = append(diff, fmt.Sprintf("%s: missing", at))
			continue
		}
		diff = append(diff, missing(at, w, have[j])...)
	}
	return diff
}

// overlay lays want over have and gives what is to be there: lists of named things by name, others replaced.
func overlay(have, want any) any {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return want
		}
		for k, v := range w {
			h[k] = overlay(h[k], v)
		}
		return h
	case []any:
		h, ok := have.([]any)
		if !ok || len(w) == 0 || nameOf(w[0]) == "" {
			return want
		}
		for _, item := range w {
			j := slices.IndexFunc(h, func(o any) bool { return nameOf(o) == nameOf(item) })
			if j < 0 {
				h = append(h, item)
				continue
			}
			h[j] = overlay(h[j], item)
		}
		return h
	}
	return want
}

func nameOf(v any) string {
	m, _ := v.(map[string]any)
	n, _ := m["name"].(string)
	return n
}

func same(a, b any) bool {
	if equality.Semantic.DeepEqual(a, b) {
		return true
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	s, ok1 := a.(string)
	u, ok2 := b.(string)
	if !ok1 || !ok2 {
		return false
	}
	// "2Gi" and "2048Mi" are one quantity.
	p, err1 := resource.ParseQuantity(s)
	q, err2 := resource.ParseQuantity(u)
	return err1 == nil && err2 == nil && p.Cmp(q) == 0
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	case int:
		return float64(n), true
	}
	return 0, false
}

func is(v any) string {
	if v == nil {
		return "missing"
	}
	return short(v)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	for _, c := range key {
		if c == '.' || c == '/' {
			return path + "[" + strconv.Quote(key) + "]"
		}
	}
	return path + "." + key
}
