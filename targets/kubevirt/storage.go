package kubevirt

import (
	"context"
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
		l.unknown(targets.FactProfiles, classify("list CDI's storage profiles", err))
		return
	}
	for _, p := range list.Items {
		name := deref(p.Status.StorageClass)
		if name == "" {
			name = p.Name
		}
		c, ok := classes[name]
		if !ok || len(p.Status.ClaimPropertySets) == 0 {
			continue
		}
		best := p.Status.ClaimPropertySets[0]
		c.VolumeMode = string(deref(best.VolumeMode))
		for _, m := range best.AccessModes {
			c.AccessModes = append(c.AccessModes, string(m))
		}
		classes[name] = c
	}
}

func (l *lookup) overheads(ctx context.Context, classes map[string]targets.StorageClass) {
	config, err := l.cdiConfig(ctx)
	if err != nil {
		l.unknown(targets.FactOverhead, err)
		return
	}
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

// capacities finds the largest volume that some part of the cluster can hold, where the driver says so.
func (l *lookup) capacities(ctx context.Context, classes map[string]targets.StorageClass) {
	list, err := l.Target.storage.CSIStorageCapacities(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		l.unknown(targets.FactCapacity, classify("list storage capacities", err))
		return
	}
	for _, s := range list.Items {
		c, ok := classes[s.StorageClassName]
		q := s.MaximumVolumeSize
		if q == nil {
			q = s.Capacity
		}
		if !ok || q == nil {
			continue
		}
		if n := q.Value(); c.Capacity == nil || n > *c.Capacity {
			c.Capacity = &n
		}
		classes[s.StorageClassName] = c
	}
}
