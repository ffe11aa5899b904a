package kubevirt

import (
	"context"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"landfall/targets"
)

// maxDisks is more than a VM of the source can have.
const maxDisks = 256

// names looks for what has a name that we are going to use and is not ours. Of one VM it looks at the machine alone, of
// several it lists the namespace's.
func (l *lookup) names(ctx context.Context) error {
	wanted := map[string]bool{}
	for _, n := range append([]string{l.q.VMName}, l.q.VMNames...) {
		if n != "" {
			wanted[n] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	found := map[string]string{} // name of the VM → what is in its way, the machine before its volumes
	take := func(vm, kind string, m metav1.Object) {
		if _, known := found[vm]; !known && !ours(m, l.q.Owner) {
			found[vm] = kind + " " + bounded(m.GetName(), 253)
		}
	}
	if err := l.namesOfMachines(ctx, wanted, take); err != nil {
		return err
	}
	volumes := volumesOf(wanted)
	for _, k := range kinds {
		if k.kind != "datavolume" && k.kind != "persistentvolumeclaim" {
			continue
		}
		if err := l.eachName(ctx, k.gvr, func(m metav1.Object) {
			if vm, ok := volumes.vm(m.GetName()); ok {
				take(vm, k.kind, m)
			}
		}); err != nil {
			return err
		}
	}
	l.set(func(f *targets.Facts) { f.Names, f.NameTaken = found, found[l.q.VMName] })
	return nil
}

// volumeNames finds the VM that a volume would be of by its name. Only of VMs whose volumes' names are cut are all names kept.
type volumeNames struct {
	wanted map[string]bool
	cut    map[string]string
}

func volumesOf(wanted map[string]bool) volumeNames {
	v := volumeNames{wanted, map[string]string{}}
	for vm := range wanted {
		for n := range maxDisks {
			if name := targets.VolumeName(vm, n); !strings.HasPrefix(name, vm+"-") {
				v.cut[name] = vm
			}
		}
	}
	return v
}

func (v volumeNames) vm(volume string) (string, bool) {
	if vm, ok := v.cut[volume]; ok {
		return vm, true
	}
	i := strings.LastIndex(volume, "-disk-")
	if i < 0 || !v.wanted[volume[:i]] {
		return "", false
	}
	n, err := strconv.Atoi(volume[i+len("-disk-"):])
	return volume[:i], err == nil && n >= 0 && n < maxDisks && targets.VolumeName(volume[:i], n) == volume
}

func (l *lookup) namesOfMachines(ctx context.Context, wanted map[string]bool, take func(vm, kind string, m metav1.Object)) error {
	if len(wanted) > 1 {
		return l.eachName(ctx, machines, func(m metav1.Object) {
			if wanted[m.GetName()] {
				take(m.GetName(), "virtualmachine", m)
			}
		})
	}
	for n := range wanted {
		vm, err := l.dynamic.Resource(machines).Namespace(l.q.Namespace).Get(ctx, n, metav1.GetOptions{})
		switch {
		case err == nil:
			take(n, "virtualmachine", vm)
		case !absent(err):
			return classify("look at "+object("virtualmachine", l.q.Namespace, n), err)
		}
	}
	return nil
}

func (l *lookup) eachName(ctx context.Context, gvr schema.GroupVersionResource, see func(metav1.Object)) error {
	return pages(func(page metav1.ListOptions) (string, error) {
		list, err := l.dynamic.Resource(gvr).Namespace(l.q.Namespace).List(ctx, page)
		if err != nil {
			return "", classify("list "+gvr.Resource+" in "+l.q.Namespace, err)
		}
		for i := range list.Items {
			see(&list.Items[i])
		}
		return list.GetContinue(), nil
	})
}
