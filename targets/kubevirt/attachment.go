package kubevirt

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"landfall/engine/fault"
	"landfall/targets"
)

var attachments = schema.GroupVersionResource{Group: "k8s.cni.cncf.io", Version: "v1", Resource: "network-attachment-definitions"}

// networks lists the network attachment definitions that a VM of the namespace may use, and finds among them those that are
// asked for. Where they may not be listed, those that are asked for are looked at one by one.
func (l *lookup) networks(ctx context.Context) error {
	spaces := map[string]bool{l.q.Namespace: true, metav1.NamespaceDefault: true}
	wanted := map[string]string{} // as asked for → "namespace/name"
	for _, n := range l.q.Networks {
		full := n
		if !strings.Contains(n, "/") {
			full = l.q.Namespace + "/" + n
		}
		ns, _, _ := strings.Cut(full, "/")
		spaces[ns], wanted[n] = true, full
	}
	known, closed := map[string]string{}, map[string]error{}
	for _, ns := range slices.Sorted(maps.Keys(spaces)) {
		if err := l.attachmentsOf(ctx, ns, known); err != nil {
			closed[ns] = err
		}
	}
	found, errs := map[string]bool{}, []error{}
	for _, n := range slices.Sorted(maps.Keys(wanted)) {
		ns, name, _ := strings.Cut(wanted[n], "/")
		_, found[n] = known[wanted[n]]
		if closed[ns] == nil {
			continue
		}
		there, err := l.attachment(ctx, ns, name, known)
		if err != nil {
			delete(found, n)
			errs = append(errs, err)
			continue
		}
		found[n] = there
	}
	l.set(func(f *targets.Facts) { f.Attachments, f.Networks = known, found })
	l.done(targets.FactAttachments, errors.Join(slices.Collect(maps.Values(closed))...))
	return errors.Join(errs...)
}

func (l *lookup) attachmentsOf(ctx context.Context, ns string, into map[string]string) error {
	err := pages(func(page metav1.ListOptions) (string, error) {
		list, err := l.dynamic.Resource(attachments).Namespace(ns).List(ctx, page)
		if err != nil {
			return "", classify("list network-attachment-definitions in "+ns, err)
		}
		for i := range list.Items {
			into[ns+"/"+bounded(list.Items[i].GetName(), 253)] = plugin(&list.Items[i])
		}
		return list.GetContinue(), nil
	})
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unsupported) {
		return nil // without Multus, or without the namespace, there are none
	}
	return err
}

func (l *lookup) attachment(ctx context.Context, ns, name string, into map[string]string) (bool, error) {
	u, err := l.dynamic.Resource(attachments).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
	if err = classify("look at network-attachment-definition "+ns+"/"+name, err); err != nil {
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unsupported) {
			return false, nil
		}
		return false, err
	}
	into[ns+"/"+name] = plugin(u)
	return true, nil
}

// plugin is the type of the CNI plugin that a definition names, of the first one where it names several.
func plugin(u *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(u.Object, "spec", "config")
	var c struct {
		Type    string
		Plugins []struct{ Type string }
	}
	if len(text) > 64<<10 || json.Unmarshal([]byte(text), &c) != nil {
		return ""
	}
	if c.Type == "" && len(c.Plugins) > 0 {
		c.Type = c.Plugins[0].Type
	}
	return bounded(c.Type, 63)
}
