package targets

// The groups of facts, by the names under which Facts.Unknown gives the reason why one stayed unknown and Facts.Looked
// when it was looked at.
const (
	FactAccess        = "access"
	FactKubeVirt      = "kubevirt"
	FactCDI           = "cdi"
	FactNamespace     = "namespace" // with its pod security
	FactClasses       = "classes"
	FactProfiles      = "profiles" // access and volume modes
	FactOverhead      = "overhead" // and the class of scratch volumes
	FactCapacity      = "capacity"
	FactNetworks      = "networks"    // those that Facts.Networks does not name
	FactAttachments   = "attachments" // Facts.Attachments may then be a part of them
	FactMACs          = "macs"        // Facts.MACs may then be a part of them
	FactName          = "name"        // and Facts.Names
	FactKVM           = "kvm"
	FactQuota         = "quota"
	FactLimits        = "limits"
	FactKubernetes    = "kubernetes"
	FactPods          = "podRanges"     // nothing that could be read tells the pods' addresses
	FactServices      = "serviceRanges" // nor the services'
	FactNodes         = "nodeAddresses"
	FactPreferences   = "preferences"
	FactInstancetypes = "instancetypes"
)
