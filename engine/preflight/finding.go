// Package preflight judges recorded facts of a VM, its source and its target by rules, one row and one function each,
// before anything is touched. It looks at nothing itself and knows no driver.
package preflight

// Level says how a finding weighs.
type Level string

const (
	Blocker Level = "Blocker"  // the migration cannot start
	Decide  Level = "Decision" // a person must accept or choose
	Warning Level = "Warning"
	Info    Level = "Info"
)

// Finding is one rule's result on one subject.
type Finding struct {
	Rule    string `json:"rule"`
	Level   Level  `json:"level"`
	Subject string `json:"subject"` // "vm", "disk 2 (scsi0:1)", "nic 1", "device 0 (usb)", "source", "target", "class fast", "quota", "host"
	Found   string `json:"found"`   // with the value
	Why     string `json:"why"`
	Fix     string `json:"fix"`
	// Unchecked: the rule could not be evaluated, which is never a pass.
	Unchecked bool `json:"unchecked,omitempty"`
	// Remedy is what the engine can do about it; nil: only what Fix says.
	Remedy *Remedy `json:"remedy,omitempty"`
}

// ID names the finding within its migration.
func (f Finding) ID() string { return f.Rule + "/" + f.Subject }
