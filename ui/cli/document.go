package cli

import (
	"strings"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/targets"
)

// document is the start of every document for a VM of an endpoint.
func document(e engine.Endpoint, name string) spec.Document {
	d := spec.Document{APIVersion: spec.APIVersion, Kind: spec.Kind, Metadata: spec.Metadata{Name: name}, Spec: e.Defaults}
	d.Spec.Source, d.Spec.Destination = e.Source, e.Target
	if d.Spec.Destination.Namespace == "" {
		d.Spec.Destination.Namespace = "default"
	}
	return d
}

// documentFor is what the console offers for a listed VM.
func documentFor(e engine.Endpoint, l engine.Listed) spec.Document {
	name := targets.Name(l.VM.Name, l.VM.Ref.InstanceUUID)
	d := document(e, name)
	d.Spec.Destination.VMName = name
	d.Spec.Source.VM = spec.VM{Name: l.VM.Name, Ref: l.VM.Ref}
	return d
}

// defaults are the mappings offered for an endpoint's VMs.
func defaults(class, podNetwork, attachment string) (s spec.Spec) {
	if class != "" {
		s.Storage.Mappings = []spec.StorageMapping{{Datastore: "*", StorageClass: class}}
	}
	if podNetwork != "" {
		s.Network.Mappings = append(s.Network.Mappings, spec.NetworkMapping{PortGroup: podNetwork, Type: "Pod"})
	}
	if group, name, ok := strings.Cut(attachment, "="); ok {
		s.Network.Mappings = append(s.Network.Mappings, spec.NetworkMapping{PortGroup: group, Type: "Multus", Name: name})
	}
	return s
}
