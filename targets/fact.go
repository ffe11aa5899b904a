package targets

// The facts that may stay unknown, by the names under which Facts.Unknown gives the reason.
const (
	FactAccess     = "access"
	FactKubeVirt   = "kubevirt"
	FactCDI        = "cdi"
	FactNamespace  = "namespace"
	FactClasses    = "classes"
	FactProfiles   = "profiles" // access and volume modes
	FactOverhead   = "overhead"
	FactCapacity   = "capacity"
	FactNetworks   = "networks" // those that Facts.Networks does not name
	FactMACs       = "macs"     // Facts.MACs may then be a part of them
	FactName       = "name"
	FactKVM        = "kvm"
	FactQuota      = "quota"
	FactKubernetes = "kubernetes"
)
