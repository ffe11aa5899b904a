package kubesim

import "fmt"

// playNamespaces empties the namespaces that are being deleted.
func (s *Server) playNamespaces(t tx) {
	for _, ns := range t.list(&namespaces, "") {
		if !dying(ns) {
			continue
		}
		left := 0
		for _, k := range catalog {
			if k.global || k.createOnly {
				continue
			}
			for _, o := range t.list(k, name(ns)) {
				if !dying(o) {
					t.delete(k, o, nil)
				}
				if t.get(k, name(ns), name(o)) != nil {
					left++
				}
			}
		}
		if left == 0 {
			t.drop(&namespaces, ns)
		}
	}
}

type found struct {
	kind   *kind
	object object
}

// playOwners is the garbage collector: what has lost all its owners goes, and deletions that wait for dependents, or
// leave them as orphans, are finished.
func (s *Server) playOwners(t tx) {
	alive := map[string]bool{}
	dependents := map[string][]found{}
	var waiting []found
	for _, k := range catalog {
		for _, o := range t.s.items[k] {
			alive[uid(o)] = true
			for _, r := range objects(at(o, "metadata", "ownerReferences")) {
				u, _ := r["uid"].(string)
				dependents[u] = append(dependents[u], found{k, o})
			}
			if dying(o) {
				waiting = append(waiting, found{k, o})
			}
		}
	}
	for owner, list := range dependents {
		if alive[owner] {
			continue
		}
		for _, d := range list {
			if !dying(d.object) && !anyAlive(d.object, alive) {
				t.delete(d.kind, d.object, nil)
			}
		}
	}
	for _, w := range waiting {
		for _, f := range finalizers(w.object) {
			switch f {
			case finalizerOrphan:
				for _, d := range dependents[uid(w.object)] {
					t.edit(d.kind, d.object, func(c object) { dropOwner(c, uid(w.object)) })
				}
				t.finalize(w.kind, w.object, f)
			case finalizerForeground:
				left := 0
				for _, d := range dependents[uid(w.object)] {
					if !dying(d.object) {
						t.delete(d.kind, d.object, nil)
					}
					if t.get(d.kind, namespace(d.object), name(d.object)) != nil {
						left++
					}
				}
				if now := t.get(w.kind, namespace(w.object), name(w.object)); left == 0 && now != nil {
					t.finalize(w.kind, now, f)
				}
			}
		}
	}
}

func anyAlive(o object, alive map[string]bool) bool {
	for _, r := range objects(at(o, "metadata", "ownerReferences")) {
		if u, _ := r["uid"].(string); alive[u] {
			return true
		}
	}
	return false
}

func dropOwner(o object, owner string) {
	var keep []any
	for _, r := range objects(at(o, "metadata", "ownerReferences")) {
		if r["uid"] != owner {
			keep = append(keep, r)
		}
	}
	if len(keep) == 0 {
		set(o, nil, "metadata", "ownerReferences")
		return
	}
	set(o, keep, "metadata", "ownerReferences")
}

// event records something about an object; saying the same again raises the count of the first.
func (t tx) event(about object, kind, reason, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	ns := namespace(about)
	if ns == "" {
		ns = "default"
	}
	n := name(about) + "." + shortHash(uid(about)+reason+message)
	if t.get(&events, ns, n) != nil {
		return
	}
	now := stamp(t.s.now())
	e := newObject(&events, ns, n)
	e["involvedObject"] = object{
		"apiVersion": str(about, "apiVersion"), "kind": str(about, "kind"), "namespace": namespace(about), "name": name(about), "uid": uid(about),
	}
	e["type"], e["reason"], e["message"], e["count"], e["firstTimestamp"], e["lastTimestamp"] = kind, reason, message, int64(1), now, now
	t.put(&events, e)
}
