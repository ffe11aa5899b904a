package preflight

// Remedy is what the engine does about a finding, once a person has consented to it.
type Remedy struct {
	ID     string `json:"id"`
	Label  string `json:"label"`  // what a person chooses
	Effect string `json:"effect"` // what is done then, and to whom
	// Choices are what can be taken where the remedy leaves a choice, the proposed one first. A name may be another too.
	Choices []string `json:"choices,omitempty"`
	// Outside: something of the source or the cluster is changed, not this migration's document alone.
	Outside bool `json:"outside,omitempty"`
}

// The remedies.
const (
	CreateNamespace = "create-namespace"
	EnableTracking  = "enable-change-tracking"
	Consolidate     = "consolidate"
	RemoveMedia     = "remove-media"
	ChooseBoot      = "choose-boot-disk"
	TakeName        = "take-name"
)
