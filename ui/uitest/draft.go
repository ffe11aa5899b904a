package uitest

import (
	"fmt"
	"strings"
	"time"

	"landfall/engine"
	"landfall/engine/preflight"
)

// Foreseen adds what a look at a VM found: one finding of every level, hostile text in all of it.
func (d *Desk) Foreseen(l engine.Listed, levels ...preflight.Level) *engine.Draft {
	doc := Document(l)
	at := Noon.Add(-3 * time.Minute)
	p := &engine.Preview{Asked: at, Taken: at, Looked: map[string]time.Time{"source": at, "target": at, "host": at},
		Manifest: "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: " + doc.Spec.Destination.VMName + "\n  annotations:\n    landfall.dev/source-name: " + strings.Join(strings.Fields(l.VM.Name), " ") + "\n" + strings.Repeat("  # and on\n", 30),
		Notes:    []string{"6 vCPUs become 1 socket of 6: " + Hostile[0]},
		Estimate: &engine.Estimate{Capacity: 24 << 30, Read: 6 << 30, Rate: 92 << 20, RateFrom: "measured in 3 copies from this host", Shutdown: 300, Copy: 67, Deliver: 40, Boot: 60, Downtime: 167}}
	for i, level := range levels {
		f := preflight.Finding{Rule: fmt.Sprintf("vm.rule%d", i), Level: level, Subject: "vm", Found: "value " + Hostile[i%len(Hostile)], Why: "it matters: " + Hostile[5], Fix: "mend it " + Hostile[4]}
		if level == preflight.Blocker {
			f.Rule, f.Subject = "target.namespace", "target"
			f.Remedy = &preflight.Remedy{ID: preflight.CreateNamespace, Label: "Create the namespace", Effect: "the namespace vms is made in kind-demo", Outside: true}
		}
		p.Findings = append(p.Findings, f)
	}
	d.Previews = append(d.Previews, engine.Draft{Key: engine.DraftKey(doc.Spec.Source), Document: doc, Asked: at, Preview: p})
	return &d.Previews[len(d.Previews)-1]
}
