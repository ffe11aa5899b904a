package kubesim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
)

// usage is what one object counts for, by the names that quotas use.
func usage(k *kind, o object) map[string]resource.Quantity {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	count := "count/" + k.plural
	if k.group != "" {
		count += "." + k.group
	}
	out := map[string]resource.Quantity{count: one}
	switch k {
	case &claims:
		size := quantity(str(o, "spec", "resources", "requests", "storage"))
		out["persistentvolumeclaims"], out["requests.storage"] = one, size
		if class := str(o, "spec", "storageClassName"); class != "" {
			out[class+".storageclass.storage.k8s.io/requests.storage"] = size
			out[class+".storageclass.storage.k8s.io/persistentvolumeclaims"] = one
		}
	case &pods:
		out["pods"] = one
		for _, c := range objects(at(o, "spec", "containers")) {
			for _, list := range []string{"requests", "limits"} {
				for what, v := range sub(c, "resources", list) {
					text, _ := v.(string)
					sum := out[list+"."+what]
					sum.Add(quantity(text))
					out[list+"."+what] = sum
				}
			}
		}
	case &services, &secrets, &configmaps:
		out[k.plural] = one
	}
	return out
}

func quantity(text string) resource.Quantity {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}
	}
	return q
}

// used sums up a namespace.
func (t tx) used(ns string) map[string]resource.Quantity {
	sum := map[string]resource.Quantity{}
	for _, k := range catalog {
		if k.global || k.hidden || k.createOnly || k == &events {
			continue
		}
		for _, o := range t.list(k, ns) {
			if phase := str(o, "status", "phase"); k == &pods && (phase == "Succeeded" || phase == "Failed") {
				continue
			}
			for what, q := range usage(k, o) {
				have := sum[what]
				have.Add(q)
				sum[what] = have
			}
		}
	}
	return sum
}

// withinQuota refuses what does not fit any more.
func (t tx) withinQuota(k *kind, o object) error {
	if k.global || len(t.list(&quotas, namespace(o))) == 0 {
		return nil
	}
	want, used := usage(k, o), t.used(namespace(o))
	for _, q := range t.list(&quotas, namespace(o)) {
		var requested, have, limited []string
		hard := sub(q, "spec", "hard")
		for _, key := range slices.Sorted(maps.Keys(hard)) {
			what := key
			if what == "cpu" || what == "memory" {
				what = "requests." + what
			}
			ask, ok := want[what]
			limitText, _ := hard[key].(string)
			limit := quantity(limitText)
			sum := used[what].DeepCopy()
			sum.Add(ask)
			if ok && sum.Cmp(limit) > 0 {
				before := used[what]
				requested = append(requested, key+"="+ask.String())
				have = append(have, key+"="+before.String())
				limited = append(limited, key+"="+limit.String())
			}
		}
		if len(limited) > 0 {
			return apierrors.NewForbidden(k.gr(), name(o), fmt.Errorf("exceeded quota: %s, requested: %s, used: %s, limited: %s",
				name(q), strings.Join(requested, ","), strings.Join(have, ","), strings.Join(limited, ",")))
		}
	}
	return nil
}

// withinLimits obeys the LimitRanges for claims.
func (t tx) withinLimits(k *kind, o object) error {
	if k != &claims {
		return nil
	}
	size := quantity(str(o, "spec", "resources", "requests", "storage"))
	for _, l := range t.list(&limitranges, namespace(o)) {
		for _, limit := range objects(at(l, "spec", "limits")) {
			if limit["type"] != "PersistentVolumeClaim" {
				continue
			}
			if most := str(limit, "max", "storage"); most != "" && size.Cmp(quantity(most)) > 0 {
				return apierrors.NewForbidden(k.gr(), name(o), fmt.Errorf("maximum storage usage per PersistentVolumeClaim is %s, but request is %s", most, size.String()))
			}
			if least := str(limit, "min", "storage"); least != "" && size.Cmp(quantity(least)) < 0 {
				return apierrors.NewForbidden(k.gr(), name(o), fmt.Errorf("minimum storage usage per PersistentVolumeClaim is %s, but request is %s", least, size.String()))
			}
		}
	}
	return nil
}

// playQuotas keeps status.used up to date.
func (s *Server) playQuotas(t tx) {
	for _, q := range t.list(&quotas, "") {
		used, now := t.used(namespace(q)), object{}
		for key := range sub(q, "spec", "hard") {
			what := key
			if what == "cpu" || what == "memory" {
				what = "requests." + what
			}
			sum := used[what]
			now[key] = sum.String()
		}
		t.edit(&quotas, q, func(c object) {
			set(c, c["spec"].(object)["hard"], "status", "hard")
			set(c, now, "status", "used")
		})
	}
}
