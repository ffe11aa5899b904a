package kubesim

import (
	"cmp"
	"strconv"
)

const (
	uploadProxyName = "cdi-uploadproxy"
	uploadPort      = 8443
	cdiNamespace    = "cdi"
	virtNamespace   = "kubevirt"
)

// seed makes the objects of a cluster with its operators installed. What is there already is left alone, but for what
// follows from the configuration and from the ports of this run.
func (s *Server) seed(t tx) {
	for _, n := range append([]string{"default", "kube-system", "kube-public"}, s.cfg.Namespaces...) {
		s.ensureNamespace(t, n)
	}
	for _, n := range s.cfg.Nodes {
		s.seedNode(t, n)
	}
	for _, c := range s.cfg.Classes {
		s.seedClass(t, c)
	}
	for _, n := range s.cfg.Networks {
		s.ensureNamespace(t, n.Namespace)
		o := newObject(&nads, n.Namespace, n.Name)
		o["spec"] = object{"config": cmp.Or(n.Config, `{"cniVersion":"0.3.1","type":"bridge","bridge":"br1"}`)}
		t.ensure(&nads, o)
	}
	for _, q := range s.cfg.Quotas {
		s.ensureNamespace(t, q.Namespace)
		o := newObject(&quotas, q.Namespace, q.Name)
		o["spec"] = object{"hard": textMap(q.Hard)}
		t.ensure(&quotas, o)
	}
	for _, l := range s.cfg.Limits {
		s.ensureNamespace(t, l.Namespace)
		s.seedLimit(t, l)
	}
	s.seedRanges(t)
	s.labelNamespaces(t)
	if !s.cfg.NoMultus {
		s.seedCRD(t, "network-attachment-definitions", groupNetwork, "NetworkAttachmentDefinition", "v1", true)
	}
	if !s.cfg.NoCDI {
		s.seedCDI(t)
	}
	if !s.cfg.NoKubeVirt {
		s.seedKubeVirt(t)
	}
}

// ensure creates an object unless there is one of its name.
func (t tx) ensure(k *kind, o object) object {
	if old := t.get(k, namespace(o), name(o)); old != nil {
		return old
	}
	return t.put(k, o)
}

func (s *Server) ensureNamespace(t tx, n string) {
	o := newObject(&namespaces, "", n)
	s.setDefaults(t, &namespaces, o)
	t.ensure(&namespaces, o)
}

func (s *Server) seedNode(t tx, n Node) {
	o := t.get(&nodes, "", n.Name)
	if o == nil {
		o = newObject(&nodes, "", n.Name)
	}
	t.edit(&nodes, o, func(o object) {
		l := object{
			"kubernetes.io/hostname": n.Name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
			"kubevirt.io/schedulable": strconv.FormatBool(!s.cfg.NoKubeVirt), "machine-type.node.kubevirt.io/q35": "true",
		}
		for k, v := range n.Labels {
			l[k] = v
		}
		set(o, l, "metadata", "labels")
		r := object{"cpu": cmp.Or(n.CPU, "8"), "memory": cmp.Or(n.Memory, "32Gi"), "pods": "110", "devices.kubevirt.io/tun": "1k"}
		if !n.NoKVM {
			r["devices.kubevirt.io/kvm"] = "1k"
		}
		set(o, r, "status", "capacity")
		set(o, clone(r), "status", "allocatable")
		set(o, []any{object{"type": "InternalIP", "address": cmp.Or(n.Address, "127.0.0.1")}, object{"type": "Hostname", "address": n.Name}}, "status", "addresses")
		set(o, object{"kubeletVersion": serverVersion.GitVersion, "architecture": "amd64", "operatingSystem": "linux"}, "status", "nodeInfo")
		s.setCondition(o, "Ready", "True", "KubeletReady", "kubelet is posting ready status")
	})
}

func (s *Server) seedClass(t tx, c StorageClass) {
	o := newObject(&classes, "", c.Name)
	if c.Default {
		set(o, object{annDefault: "true"}, "metadata", "annotations")
	}
	o["provisioner"], o["reclaimPolicy"], o["allowVolumeExpansion"], o["volumeBindingMode"] = provisioner, "Delete", true, "Immediate"
	if c.WaitForFirstConsumer {
		o["volumeBindingMode"] = "WaitForFirstConsumer"
	}
	t.ensure(&classes, o)
	if s.cfg.NoCDI {
		return
	}
	p := newObject(&profiles, "", c.Name)
	p["spec"] = object{}
	p["status"] = object{"storageClass": c.Name, "provisioner": provisioner, "cloneStrategy": "copy"}
	if !c.NoProfile {
		modes := c.AccessModes
		if len(modes) == 0 {
			modes = []string{"ReadWriteOnce"}
		}
		set(p, []any{object{"accessModes": anys(modes), "volumeMode": cmp.Or(c.VolumeMode, "Filesystem")}}, "status", "claimPropertySets")
	}
	t.ensure(&profiles, p)
}

func (s *Server) seedCRD(t tx, plural, group, kind, version string, namespaced bool) {
	o := newObject(&crds, "", plural+"."+group)
	scope := "Cluster"
	if namespaced {
		scope = "Namespaced"
	}
	o["spec"] = object{
		"group": group, "scope": scope, "names": object{"plural": plural, "kind": kind, "listKind": kind + "List"},
		"versions": []any{object{"name": version, "served": true, "storage": true, "schema": object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
	}
	set(o, []any{version}, "status", "storedVersions")
	s.setCondition(o, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
	t.ensure(&crds, o)
}

func (s *Server) seedCDI(t tx) {
	s.ensureNamespace(t, cdiNamespace)
	for _, k := range []*kind{&datavolumes, &cdis, &cdiconfigs, &profiles} {
		s.seedCRD(t, k.plural, k.group, k.name, k.version, !k.global)
	}
	release := cmp.Or(s.cfg.CDI.Version, "1.64.0")
	o := newObject(&cdis, "", "cdi")
	o["spec"] = object{"config": object{"featureGates": []any{"HonorWaitForFirstConsumer"}}}
	o["status"] = object{"phase": cmp.Or(s.cfg.CDI.Phase, "Deployed"), "operatorVersion": release, "observedVersion": release, "targetVersion": release}
	s.health(o, s.cfg.CDI)
	t.ensure(&cdis, o)

	overhead, global := object{"global": strconv.FormatFloat(defaultOverhead, 'f', -1, 64)}, strconv.FormatFloat(defaultOverhead, 'f', -1, 64)
	perClass := object{}
	for _, c := range s.cfg.Classes {
		perClass[c.Name] = global
		if c.Overhead != nil {
			perClass[c.Name] = strconv.FormatFloat(*c.Overhead, 'f', -1, 64)
		}
	}
	overhead["storageClass"] = perClass
	cfg := t.ensure(&cdiconfigs, object{"metadata": object{"name": "config"}, "spec": object{"featureGates": []any{"HonorWaitForFirstConsumer"}}})
	t.edit(&cdiconfigs, cfg, func(c object) {
		set(c, object{
			"uploadProxyURL": s.upload.addr(), "uploadProxyCA": string(s.uploadCA.pem), "scratchSpaceStorageClass": cmp.Or(s.cfg.ScratchClass, defaultClass(t)), "filesystemOverhead": overhead,
		}, "status")
	})
	bundle := t.ensure(&configmaps, newObject(&configmaps, cdiNamespace, "cdi-uploadproxy-signer-bundle"))
	t.edit(&configmaps, bundle, func(c object) { set(c, string(s.uploadCA.pem), "data", "ca-bundle.crt") })

	svc := newObject(&services, cdiNamespace, uploadProxyName)
	svc["spec"] = object{"selector": object{"cdi.kubevirt.io": uploadProxyName}, "ports": []any{object{"port": int64(443), "targetPort": int64(uploadPort), "protocol": "TCP"}}}
	s.setDefaults(t, &services, svc)
	t.ensure(&services, svc)
	s.seedPod(t, cdiNamespace, uploadProxyName+"-6c9f8d7b5-x2k4p", object{"cdi.kubevirt.io": uploadProxyName, "app": "containerized-data-importer"})
}

// health is what the operators of CDI and KubeVirt say.
func (s *Server) health(o object, c Operator) {
	s.setCondition(o, "Available", "True", "DeployCompleted", "Deployment Completed")
	s.setCondition(o, "Progressing", "False", "", "")
	s.setCondition(o, "Degraded", "False", "", "")
	if c.Unavailable != "" {
		s.setCondition(o, "Available", "False", "DeploymentNotReady", c.Unavailable)
	}
	if c.Degraded != "" {
		s.setCondition(o, "Degraded", "True", "Degraded", c.Degraded)
	}
}

func (s *Server) seedPod(t tx, ns, n string, labels object) {
	if t.get(&pods, ns, n) != nil {
		return
	}
	p := newObject(&pods, ns, n)
	set(p, labels, "metadata", "labels")
	p["spec"] = object{"nodeName": s.cfg.Nodes[0].Name, "containers": []any{object{"name": "main", "image": "kubesim/" + n}}}
	set(p, object{"phase": "Running", "podIP": freeAddress(t)}, "status")
	s.setCondition(p, "Ready", "True", "", "")
	t.put(&pods, p)
}

func (s *Server) seedKubeVirt(t tx) {
	s.ensureNamespace(t, virtNamespace)
	for _, k := range []*kind{&machines, &instances, &kubevirts, &clusterTypes, &clusterPrefs, &localTypes, &localPrefs} {
		s.seedCRD(t, k.plural, k.group, k.name, k.version, !k.global)
	}
	release := cmp.Or(s.cfg.KubeVirt.Version, "v1.7.0")
	o := newObject(&kubevirts, virtNamespace, "kubevirt")
	o["spec"] = object{"configuration": object{}}
	if s.cfg.Emulation {
		set(o, true, "spec", "configuration", "developerConfiguration", "useEmulation")
	}
	o["status"] = object{"phase": cmp.Or(s.cfg.KubeVirt.Phase, "Deployed"), "operatorVersion": release, "observedKubeVirtVersion": release, "targetKubeVirtVersion": release}
	s.health(o, s.cfg.KubeVirt)
	t.ensure(&kubevirts, o)
	for _, i := range s.cfg.Instancetypes {
		k := &clusterTypes
		if i.Namespace != "" {
			k = &localTypes
			s.ensureNamespace(t, i.Namespace)
		}
		o := newObject(k, i.Namespace, i.Name)
		o["spec"] = object{"cpu": object{"guest": int64(max(i.CPU, 1))}, "memory": object{"guest": cmp.Or(i.Memory, "1Gi")}}
		t.ensure(k, o)
	}
	for _, p := range s.cfg.Preferences {
		s.seedPreference(t, p)
	}
}
