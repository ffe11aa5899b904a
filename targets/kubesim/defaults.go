package kubesim

import "slices"

const (
	finalizerClaim = "kubernetes.io/pvc-protection"
	finalizerVM    = "kubevirt.io/virtualMachineControllerFinalize"
	finalizerVMI   = "foregroundDeleteVirtualMachine"
)

// setDefaults fills in what the API server or a mutating webhook fills in at creation.
func (s *Server) setDefaults(t tx, k *kind, o object) {
	put := func(v any, path ...string) {
		if at(o, path...) == nil {
			set(o, v, path...)
		}
	}
	switch k {
	case &namespaces:
		set(o, "Active", "status", "phase")
		set(o, []any{"kubernetes"}, "spec", "finalizers")
		set(o, name(o), "metadata", "labels", "kubernetes.io/metadata.name")
	case &claims:
		s.defaultClaim(t, o)
	case &secrets:
		put("Opaque", "type")
		if plain := sub(o, "stringData"); plain != nil {
			for key, v := range plain {
				if text, ok := v.(string); ok {
					set(o, base64Text(text), "data", key)
				}
			}
			delete(o, "stringData")
		}
	case &services:
		put("ClusterIP", "spec", "type")
		put("10.96.0."+lastByte(name(o)), "spec", "clusterIP")
		put("None", "spec", "sessionAffinity")
		ports := objects(at(o, "spec", "ports"))
		for i, p := range ports {
			p = clone(p)
			if p["protocol"] == nil {
				p["protocol"] = "TCP"
			}
			if p["targetPort"] == nil {
				p["targetPort"] = p["port"]
			}
			ports[i] = p
		}
		if len(ports) > 0 {
			set(o, anys(ports), "spec", "ports")
		}
	case &pods:
		set(o, "Pending", "status", "phase")
	case &machines:
		setFinalizer(o, finalizerVM, true)
		if sub(o, "spec", "template", "spec") != nil {
			put("amd64", "spec", "template", "spec", "architecture")
			put("q35", "spec", "template", "spec", "domain", "machine", "type")
		}
	case &instances:
		setFinalizer(o, finalizerVMI, true)
		put("amd64", "spec", "architecture")
		set(o, "Pending", "status", "phase")
	}
}

func (s *Server) defaultClaim(t tx, o object) {
	setFinalizer(o, finalizerClaim, true)
	if at(o, "spec", "storageClassName") == nil {
		if c := defaultClass(t); c != "" {
			set(o, c, "spec", "storageClassName")
		}
	}
	if at(o, "spec", "volumeMode") == nil {
		set(o, "Filesystem", "spec", "volumeMode")
	}
	set(o, "Pending", "status", "phase")
}

// defaultClass asks the objects, not the configuration: a client may have moved the annotation.
func defaultClass(t tx) string {
	all := t.list(&classes, "")
	i := slices.IndexFunc(all, func(c object) bool { return annotation(c, "storageclass.kubernetes.io/is-default-class") == "true" })
	if i < 0 {
		return ""
	}
	return name(all[i])
}
