package kubevirt

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/targets"
)

// maxDisks is more than a VM of the source can have.
const maxDisks = 256

// name looks for what has a name that we are going to use and is not ours.
func (l *lookup) name(ctx context.Context) error {
	if l.q.VMName == "" {
		return nil
	}
	vm, err := l.dynamic.Resource(machines).Namespace(l.q.Namespace).Get(ctx, l.q.VMName, metav1.GetOptions{})
	switch {
	case err == nil && !ours(vm, l.q.Owner):
		l.taken("virtualmachine", vm)
		return nil
	case err != nil && !absent(err):
		return classify("look at "+object("virtualmachine", l.q.Namespace, l.q.VMName), err)
	}
	names := map[string]bool{}
	for n := range maxDisks {
		names[targets.VolumeName(l.q.VMName, n)] = true
	}
	for _, k := range kinds {
		if k.kind != "datavolume" && k.kind != "persistentvolumeclaim" {
			continue
		}
		page := metav1.ListOptions{Limit: 500}
		for {
			list, err := l.dynamic.Resource(k.gvr).Namespace(l.q.Namespace).List(ctx, page)
			if err != nil {
				return classify("list "+k.gvr.Resource+" in "+l.q.Namespace, err)
			}
			for i := range list.Items {
				if u := &list.Items[i]; names[u.GetName()] && !ours(u, l.q.Owner) {
					l.taken(k.kind, u)
					return nil
				}
			}
			if page.Continue = list.GetContinue(); page.Continue == "" {
				break
			}
		}
	}
	return nil
}

func (l *lookup) taken(kind string, m metav1.Object) {
	l.set(func(f *targets.Facts) { f.NameTaken = kind + " " + bounded(m.GetName(), 253) })
}
