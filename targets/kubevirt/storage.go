package kubevirt

import (
	"context"
	"math"
	"strconv"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/targets"
)

const (
	annDefaultVirt  = "storageclass.kubevirt.io/is-default-virt-class"
	annDefaultClass = "storageclass.kubernetes.io/is-default-class"
)

func (l *lookup) storage(ctx context.Context) error {
	list, err := l.Target.storage.StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return classify("list storage classes", err)
	}
	classes := make(map[string]targets.StorageClass, len(list.Items))
	forVirt, plain := "", ""
	for _, c := range list.Items {
		classes[c.Name] = targets.StorageClass{
			Provisioner:          c.Provisioner,
			WaitForFirstConsumer: c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer,
			Overhead:             defaultOverhead,
		}
		if c.Annotations[annDefaultVirt] == "true" {
			forVirt = c.Name
		}
		if c.Annotations[annDefaultClass] == "true" {
			plain = c.Name
		}
	}
	if forVirt == "" {
		forVirt = plain
	}
	l.profiles(ctx, classes)
	l.overheads(ctx, classes)
	l.capacities(ctx, classes)
	l.set(func(f *targets.Facts) { f.Classes, f.DefaultClass = classes, forVirt })
	return nil
}

func (l *lookup) profiles(ctx context.Context, classes map[string]targets.StorageClass) {
	list, err := l.cdi.StorageProfiles().List(ctx, metav1.ListOptions{})
	if err != nil {
		l.done(targets.FactProfiles, classify("list CDI's storage profiles", err))
		return
	}
	l.done(targets.FactProfiles, nil)
	for _, p := range list.Items {
		name := deref(p.Status.StorageClass)
		if name == "" {
			name = p.Name
		}
		c, ok := classes[name]
		if !ok || len(p.Status.ClaimPropertySets) == 0 {
			continue
		}
		for _, set := range p.Status.ClaimPropertySets {
			m := targets.Modes{VolumeMode: string(deref(set.VolumeMode))}
			for _, a := range set.AccessModes {
				m.AccessModes = append(m.AccessModes, string(a))
			}
			c.Modes = append(c.Modes, m)
		}
		c.VolumeMode, c.AccessModes = c.Modes[0].VolumeMode, c.Modes[0].AccessModes
		classes[name] = c
	}
}

func (l *lookup) overheads(ctx context.Context, classes map[string]targets.StorageClass) {
	config, err := l.cdiConfig(ctx)
	l.done(targets.FactOverhead, err)
	if err != nil {
		return
	}
	l.set(func(f *targets.Facts) { f.ScratchClass = bounded(config.Status.ScratchSpaceStorageClass, 253) })
	o := config.Status.FilesystemOverhead
	if o == nil {
		return
	}
	for name, c := range classes {
		of, ok := o.StorageClass[name]
		if !ok {
			of = o.Global
		}
		if f, err := strconv.ParseFloat(string(of), 64); err == nil && f >= 0 && f <= 1 {
			c.Overhead = f
			classes[name] = c
		}
	}
}

// capacities finds the largest volume that some part of the cluster can hold, and what all parts have left, where the driver
// says so.
func (l *lookup) capacities(ctx context.Context, classes map[string]targets.StorageClass) {
	l.done(targets.FactCapacity, pages(func(page metav1.ListOptions) (string, error) {
		list, err := l.Target.storage.CSIStorageCapacities(metav1.NamespaceAll).List(ctx, page)
		if err != nil {
			return "", classify("list storage capacities", err)
		}
		for _, s := range list.Items {
			c, ok := classes[s.StorageClassName]
			if !ok {
				continue
			}
			if s.Capacity != nil {
				c.Free = sum(c.Free, s.Capacity.Value())
			}
			largest := s.MaximumVolumeSize
			if largest == nil {
				largest = s.Capacity
			}
			if largest != nil {
				if n := largest.Value(); c.Capacity == nil || n > *c.Capacity {
					c.Capacity = &n
				}
			}
			classes[s.StorageClassName] = c
		}
		return list.Continue, nil
	}))
}

// sum adds without turning over.
func sum(have *int64, n int64) *int64 {
	if n = max(n, 0); have != nil {
		if n > math.MaxInt64-*have {
			n = math.MaxInt64
		} else {
			n += *have
		}
	}
	return &n
}
