package kubevirt

import (
	"landfall/engine/spec"
	"landfall/targets"
)

// Makes names what CreateVolume makes, in that order.
func (t *Target) Makes(o targets.Owner, v targets.Volume) []targets.Ref {
	var refs []targets.Ref
	add := func(kind, name string) {
		refs = append(refs, targets.Ref{Kind: kind, Namespace: o.Namespace, Name: name})
	}
	if v.Pull != nil && v.Pull.Username != "" {
		add("secret", pullSecret(v))
	}
	if v.Pull != nil && len(v.Pull.CA) > 0 {
		add("configmap", pullCA(v))
	}
	add("datavolume", v.Name)
	return refs
}

// MakesMachine names what ApplyMachine and Probe make.
func (t *Target) MakesMachine(o targets.Owner, p targets.Plan, checks []spec.Check) []targets.Ref {
	refs := []targets.Ref{{Kind: "virtualmachine", Namespace: p.Namespace, Name: p.Name}}
	seen := map[int]bool{}
	for _, c := range checks {
		if c.Type == "HTTP" && !seen[c.Port] {
			seen[c.Port] = true
			refs = append(refs, targets.Ref{Kind: "service", Namespace: p.Namespace, Name: probeName(p, c.Port)})
		}
	}
	return refs
}
