package kubesim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is one row of the catalog: a resource that the API serves.
type kind struct {
	group, version, plural, name string
	short                        []string
	global                       bool // not in a namespace
	status                       bool // has the status subresource
	custom                       bool // defined by a CRD, hence a resource version is needed to update and no strategic patch
	createOnly                   bool // a question that is answered, nothing is kept
	hidden                       bool // the simulator's own notes; not served
}

const (
	groupCDI      = "cdi.kubevirt.io"
	groupUpload   = "upload.cdi.kubevirt.io"
	groupKubeVirt = "kubevirt.io"
	groupSubres   = "subresources.kubevirt.io"
	groupInstance = "instancetype.kubevirt.io"
	groupNetwork  = "k8s.cni.cncf.io"
)

var (
	namespaces   = kind{group: "", version: "v1", plural: "namespaces", name: "Namespace", short: []string{"ns"}, global: true, status: true}
	nodes        = kind{version: "v1", plural: "nodes", name: "Node", short: []string{"no"}, global: true, status: true}
	claims       = kind{version: "v1", plural: "persistentvolumeclaims", name: "PersistentVolumeClaim", short: []string{"pvc"}, status: true}
	volumes      = kind{version: "v1", plural: "persistentvolumes", name: "PersistentVolume", short: []string{"pv"}, global: true, status: true}
	pods         = kind{version: "v1", plural: "pods", name: "Pod", short: []string{"po"}, status: true}
	services     = kind{version: "v1", plural: "services", name: "Service", short: []string{"svc"}, status: true}
	endpoints    = kind{version: "v1", plural: "endpoints", name: "Endpoints", short: []string{"ep"}}
	secrets      = kind{version: "v1", plural: "secrets", name: "Secret"}
	configmaps   = kind{version: "v1", plural: "configmaps", name: "ConfigMap", short: []string{"cm"}}
	events       = kind{version: "v1", plural: "events", name: "Event", short: []string{"ev"}}
	quotas       = kind{version: "v1", plural: "resourcequotas", name: "ResourceQuota", short: []string{"quota"}, status: true}
	limitranges  = kind{version: "v1", plural: "limitranges", name: "LimitRange", short: []string{"limits"}}
	accounts     = kind{version: "v1", plural: "serviceaccounts", name: "ServiceAccount", short: []string{"sa"}}
	classes      = kind{group: "storage.k8s.io", version: "v1", plural: "storageclasses", name: "StorageClass", short: []string{"sc"}, global: true}
	capacities   = kind{group: "storage.k8s.io", version: "v1", plural: "csistoragecapacities", name: "CSIStorageCapacity"}
	crds         = kind{group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions", name: "CustomResourceDefinition", short: []string{"crd", "crds"}, global: true, status: true}
	accessReview = kind{group: "authorization.k8s.io", version: "v1", plural: "selfsubjectaccessreviews", name: "SelfSubjectAccessReview", global: true, createOnly: true}
	selfReview   = kind{group: "authentication.k8s.io", version: "v1", plural: "selfsubjectreviews", name: "SelfSubjectReview", global: true, createOnly: true}
	datavolumes  = kind{group: groupCDI, version: "v1beta1", plural: "datavolumes", name: "DataVolume", short: []string{"dv", "dvs"}, status: true, custom: true}
	cdis         = kind{group: groupCDI, version: "v1beta1", plural: "cdis", name: "CDI", short: []string{"cdi"}, global: true, status: true, custom: true}
	cdiconfigs   = kind{group: groupCDI, version: "v1beta1", plural: "cdiconfigs", name: "CDIConfig", global: true, custom: true}
	profiles     = kind{group: groupCDI, version: "v1beta1", plural: "storageprofiles", name: "StorageProfile", global: true, status: true, custom: true}
	tokens       = kind{group: groupUpload, version: "v1beta1", plural: "uploadtokenrequests", name: "UploadTokenRequest", short: []string{"utr", "utrs"}, createOnly: true, custom: true}
	machines     = kind{group: groupKubeVirt, version: "v1", plural: "virtualmachines", name: "VirtualMachine", short: []string{"vm", "vms"}, status: true, custom: true}
	instances    = kind{group: groupKubeVirt, version: "v1", plural: "virtualmachineinstances", name: "VirtualMachineInstance", short: []string{"vmi", "vmis"}, custom: true}
	kubevirts    = kind{group: groupKubeVirt, version: "v1", plural: "kubevirts", name: "KubeVirt", short: []string{"kv", "kvs"}, status: true, custom: true}
	clusterTypes = kind{group: groupInstance, version: "v1beta1", plural: "virtualmachineclusterinstancetypes", name: "VirtualMachineClusterInstancetype", global: true, custom: true}
	clusterPrefs = kind{group: groupInstance, version: "v1beta1", plural: "virtualmachineclusterpreferences", name: "VirtualMachineClusterPreference", global: true, custom: true}
	localTypes   = kind{group: groupInstance, version: "v1beta1", plural: "virtualmachineinstancetypes", name: "VirtualMachineInstancetype", custom: true}
	localPrefs   = kind{group: groupInstance, version: "v1beta1", plural: "virtualmachinepreferences", name: "VirtualMachinePreference", custom: true}
	nads         = kind{group: groupNetwork, version: "v1", plural: "network-attachment-definitions", name: "NetworkAttachmentDefinition", short: []string{"net-attach-def"}, custom: true}
	serviceCIDRs = kind{group: "networking.k8s.io", version: "v1", plural: "servicecidrs", name: "ServiceCIDR", global: true, status: true}
	ocpNetworks  = kind{group: "config.openshift.io", version: "v1", plural: "networks", name: "Network", global: true, custom: true}
	transfers    = kind{group: "internal", version: "v1", plural: "transfers", name: "Transfer", hidden: true}
	launches     = kind{group: "internal", version: "v1", plural: "launches", name: "Launch", hidden: true}
)

var catalog = []*kind{
	&namespaces, &nodes, &claims, &volumes, &pods, &services, &endpoints, &secrets, &configmaps, &events, &quotas, &limitranges, &accounts,
	&classes, &capacities, &crds, &accessReview, &selfReview, &datavolumes, &cdis, &cdiconfigs, &profiles, &tokens,
	&machines, &instances, &kubevirts, &clusterTypes, &clusterPrefs, &localTypes, &localPrefs, &nads, &serviceCIDRs, &ocpNetworks, &transfers, &launches,
}

func (k *kind) apiVersion() string {
	if k.group == "" {
		return k.version
	}
	return k.group + "/" + k.version
}

func (k *kind) gr() schema.GroupResource {
	return schema.GroupResource{Group: k.group, Resource: k.plural}
}

func (k *kind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.name}
}

// key names the kind in the journal.
func (k *kind) key() string { return k.plural + "." + k.group }

func (k *kind) verbs() metav1.Verbs {
	if k.createOnly {
		return metav1.Verbs{"create"}
	}
	return metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// served says which groups this cluster has installed.
func (c *Config) served(group string) bool {
	switch group {
	case groupCDI, groupUpload:
		return !c.NoCDI
	case groupKubeVirt, groupSubres, groupInstance:
		return !c.NoKubeVirt
	case serviceCIDRs.group:
		return c.Ranges.As == "" || c.Ranges.As == AsObjects
	case ocpNetworks.group:
		return c.Ranges.As == AsOpenShift
	case groupNetwork:
		return !c.NoMultus
	}
	return true
}

// find looks up a served kind.
func (c *Config) find(group, version, plural string) *kind {
	for _, k := range catalog {
		if k.group == group && k.version == version && k.plural == plural && !k.hidden && c.served(group) {
			return k
		}
	}
	return nil
}

// kindByKey finds a kind by its name in the journal.
func kindByKey(key string) *kind {
	for _, k := range catalog {
		if k.key() == key {
			return k
		}
	}
	return nil
}
