package kubesim

import (
	"slices"

	klabels "k8s.io/apimachinery/pkg/labels"
)

// playEndpoints keeps the Endpoints of every service with a selector.
func (s *Server) playEndpoints(t tx) {
	for _, svc := range t.list(&services, "") {
		want := map[string]string{}
		for k, v := range sub(svc, "spec", "selector") {
			want[k], _ = v.(string)
		}
		if len(want) == 0 || dying(svc) {
			continue
		}
		ep := t.get(&endpoints, namespace(svc), name(svc))
		if ep == nil {
			ep = newObject(&endpoints, namespace(svc), name(svc))
		}
		subsets := subsetsOf(t, svc, klabels.SelectorFromSet(want))
		t.edit(&endpoints, ep, func(c object) {
			set(c, anyOrNil(subsets), "subsets")
		})
	}
	for _, ep := range t.list(&endpoints, "") {
		if t.get(&services, namespace(ep), name(ep)) == nil {
			t.delete(&endpoints, ep, nil)
		}
	}
}

func anyOrNil(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

func subsetsOf(t tx, svc object, selector klabels.Selector) []any {
	var ready, waiting []any
	for _, p := range t.list(&pods, namespace(svc)) {
		if !selector.Matches(klabels.Set(labels(p))) || str(p, "status", "podIP") == "" || dying(p) || slices.Contains([]string{"Succeeded", "Failed"}, str(p, "status", "phase")) {
			continue
		}
		a := object{"ip": str(p, "status", "podIP"), "nodeName": str(p, "spec", "nodeName"), "targetRef": object{"kind": pods.name, "namespace": namespace(p), "name": name(p), "uid": uid(p)}}
		if conditionStatus(p, "Ready") == "True" {
			ready = append(ready, a)
		} else {
			waiting = append(waiting, a)
		}
	}
	if len(ready)+len(waiting) == 0 {
		return nil
	}
	var ports []any
	for _, p := range objects(at(svc, "spec", "ports")) {
		n, ok := p["targetPort"].(int64)
		if !ok {
			continue // a named port of a container: guests declare none
		}
		q := object{"port": n, "protocol": p["protocol"]}
		if p["name"] != nil {
			q["name"] = p["name"]
		}
		ports = append(ports, q)
	}
	subset := object{}
	set(subset, anyOrNil(ready), "addresses")
	set(subset, anyOrNil(waiting), "notReadyAddresses")
	set(subset, anyOrNil(ports), "ports")
	return []any{subset}
}
