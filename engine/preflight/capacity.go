package preflight

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"landfall/engine/spec"
	"landfall/targets"
)

// capacity compares the volumes with what their classes, the quotas and the limits have left.
func capacity(f Facts) (hits []hit) {
	need := needs(f)
	unknown := f.Target.Unknown[targets.FactCapacity]
	if unknown != "" && len(need.classes) > 0 {
		hits = append(hits, cannot("target", unknown)...)
	}
	for _, name := range slices.Sorted(maps.Keys(need.classes)) {
		n, c := need.classes[name], f.Target.Classes[name]
		say := func(format string, args ...any) {
			hits = append(hits, hit{subject: "class " + name, found: fmt.Sprintf(format, args...)})
		}
		switch {
		case c.Capacity == nil && unknown == "":
			hits = append(hits, hit{subject: "class " + name, unchecked: true,
				found: fmt.Sprintf("could not check: its driver does not tell how much room it has; %s in volumes of up to %s are needed", size(n.peak), size(n.largest))})
		case c.Capacity != nil && *c.Capacity < n.largest:
			say("has room for volumes of %s, %s is needed", size(*c.Capacity), size(n.largest))
		case c.Free != nil && *c.Free < n.peak:
			say("has %s left, %s is needed", size(*c.Free), size(n.peak))
		}
	}
	return append(append(hits, quotas(f, need)...), limits(f, need)...)
}

// needed is the room that a VM needs, scratch volumes included: one disk is filled after the other.
type needed struct {
	classes map[string]*classNeed
	peak    int64 // of all classes together
	claims  int64
	volumes map[int]volume
}

type classNeed struct{ largest, total, peak int64 }

func needs(f Facts) needed {
	n := needed{classes: map[string]*classNeed{}, volumes: volumes(f)}
	format := "raw"
	if f.Spec.Strategy.Conversion == spec.ConvertQemuImg {
		format = "qcow2"
	}
	of := func(class string) *classNeed {
		if n.classes[class] == nil {
			n.classes[class] = &classNeed{}
		}
		return n.classes[class]
	}
	var total int64
	var beside int64
	for _, i := range slices.Sorted(maps.Keys(n.volumes)) {
		v := n.volumes[i]
		c := of(v.name)
		c.largest, c.total = max(c.largest, v.size), plus(c.total, v.size)
		c.peak = max(c.peak, c.total)
		total = plus(total, v.size)
		n.peak = max(n.peak, total)
		n.claims++
		scratch := targets.Scratch(v.size, f.Spec.Strategy.Delivery, format)
		if scratch == 0 {
			continue
		}
		where := v.name
		if s := f.Target.ScratchClass; s != "" {
			where = s
		}
		s := of(where)
		s.largest, s.peak = max(s.largest, scratch), max(s.peak, plus(s.total, scratch))
		n.peak = max(n.peak, plus(total, scratch))
		beside = 1
	}
	n.claims += beside
	return n
}

// quotas compares with what the quotas of the namespace leave.
func quotas(f Facts, n needed) (hits []hit) {
	if why := f.Target.Unknown[targets.FactQuota]; why != "" {
		return cannot("quota", why)
	}
	if left := f.Target.QuotaStorage; left != nil && *left < n.peak {
		hits = append(hits, hit{subject: "quota", found: fmt.Sprintf("leaves %s, %s is needed (%s)", size(*left), size(n.peak), strings.Join(f.Target.Quota, "; "))})
	}
	for _, name := range slices.Sorted(maps.Keys(f.Target.QuotaLeft)) {
		left := f.Target.QuotaLeft[name]
		class, of, _ := strings.Cut(name, ".storageclass.storage.k8s.io/")
		switch {
		case (name == "persistentvolumeclaims" || name == "count/persistentvolumeclaims") && left < n.claims:
			hits = append(hits, hit{subject: "quota " + name, found: fmt.Sprintf("leaves %d claims, %d are needed", left, n.claims)})
		case of == "requests.storage" && n.classes[class] != nil && left < n.classes[class].peak:
			hits = append(hits, hit{subject: "quota " + name, found: fmt.Sprintf("leaves %s, %s is needed", size(left), size(n.classes[class].peak))})
		}
	}
	return hits
}

// limits compares each claim with what a LimitRange of the namespace allows one.
func limits(f Facts, n needed) (hits []hit) {
	if why := f.Target.Unknown[targets.FactLimits]; why != "" {
		return cannot("limit range", why)
	}
	for _, l := range f.Target.Limits {
		if l.Type != "PersistentVolumeClaim" || l.Resource != "storage" {
			continue
		}
		for _, i := range slices.Sorted(maps.Keys(n.volumes)) {
			v := n.volumes[i]
			subject := diskName(i, f.VM.DiskList[i]) + ", limit range " + l.Name
			switch {
			case l.Max != nil && v.size > *l.Max:
				hits = append(hits, hit{subject: subject, found: fmt.Sprintf("allows a claim %s, %s is needed", size(*l.Max), size(v.size))})
			case l.Min != nil && v.size < *l.Min:
				hits = append(hits, hit{subject: subject, found: fmt.Sprintf("asks for at least %s a claim, %s is needed", size(*l.Min), size(v.size))})
			}
		}
	}
	return hits
}

// plus adds sizes without turning over.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
