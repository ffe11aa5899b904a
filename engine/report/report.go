// Package report tells how a migration went: timeline, measured downtime, digests, decisions and who took them, checks, and
// what is left. It reads through the desk alone. Outside text in the Markdown form is cleaned; the JSON form is exact.
package report

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/plaintext"
	"landfall/targets"
)

// Report is one migration's story.
type Report struct {
	Name      string              `json:"name"`
	UID       string              `json:"uid"`
	VM        string              `json:"vm"`
	Ref       machine.Ref         `json:"ref"`
	Source    string              `json:"source"`
	Target    string              `json:"target"`
	Machine   string              `json:"machine,omitempty"`
	Phase     engine.Phase        `json:"phase"`
	Message   string              `json:"message,omitempty"`
	Created   time.Time           `json:"created"`
	CreatedBy string              `json:"createdBy"`
	Times     engine.Times        `json:"timestamps"`
	Downtime  string              `json:"downtime,omitempty"` // source off to instance running, as measured
	Warm      *Warm               `json:"warm,omitempty"`     // of a migration that followed a running source
	Disks     []Disk              `json:"disks"`
	Checks    []targets.Result    `json:"checks,omitempty"`
	Decisions []engine.Decision   `json:"decisions,omitempty"`
	Notes     []string            `json:"notes,omitempty"`
	Drift     []string            `json:"drift,omitempty"`
	Errors    []engine.Failure    `json:"errors,omitempty"`
	Timeline  []engine.Transition `json:"timeline"`
	Left      []engine.Held       `json:"left"`
	Kept      []engine.Held       `json:"kept,omitempty"` // the results of the migration
}

// Disk is what is known of one disk's copy.
type Disk struct {
	Index     int    `json:"index"`
	Label     string `json:"label"`
	Size      int64  `json:"size"`
	Reader    string `json:"reader"`
	Data      int64  `json:"data"`      // bytes that are not zeros
	Allocated int64  `json:"allocated"` // as the source told; -1: it could not
	Root      string `json:"root"`      // Merkle root over the digests of 1 MiB chunks, of what was read from the source
	Artifact  string `json:"artifact"`  // format and digest of what was delivered
	Delivered string `json:"delivered"` // digest of what was sent to its end and acknowledged
	Volume    string `json:"volume"`
	Imported  bool   `json:"imported"`
	Proved    bool   `json:"proved"`           // the source was read twice while off
	SHA256    string `json:"sha256,omitempty"` // of the whole image, where it was proved
	Verdict   string `json:"verdict"`
}

// Build gathers the report.
func Build(ctx context.Context, desk engine.Desk, m engine.Migration) (Report, error) {
	st := m.Status
	r := Report{Name: m.Name(), UID: m.UID, VM: m.VMName(), Source: m.Document.Spec.Source.Address, Phase: st.Phase, Message: st.Message,
		Created: m.Created, CreatedBy: m.CreatedBy, Times: st.Times, Checks: st.Checks, Drift: st.Drift, Errors: st.Errors, Timeline: st.History, Left: st.Left, Disks: []Disk{}}
	if st.Inventory != nil {
		r.Ref = st.Inventory.Ref
	}
	if st.Source != nil {
		r.Source += " (" + st.Source.Product + ")"
	}
	if st.Target != nil {
		r.Target = fmt.Sprintf("context %s at %s (Kubernetes %s, KubeVirt %s, CDI %s)", st.Target.Context, st.Target.Server, st.Target.Kubernetes, st.Target.KubeVirt, st.Target.CDI)
	}
	if st.Machine != nil {
		r.Machine = st.Machine.Namespace + "/" + st.Machine.Name
	}
	if st.Plan != nil {
		r.Notes = st.Plan.Notes
	}
	if d, running, ok := st.Times.Downtime(time.Time{}); ok && !running && !st.Times.VMStarted.IsZero() {
		r.Downtime = d.Round(time.Millisecond).String()
	}
	r.Warm = online(st)
	for _, d := range st.Disks {
		r.Disks = append(r.Disks, disk(d))
	}
	var err error
	if r.Decisions, err = desk.Decisions(ctx, m.UID); err != nil {
		return r, err
	}
	held, err := desk.Held(ctx, m.UID)
	if err != nil {
		return r, err
	}
	for _, h := range held {
		if h.Keep {
			r.Kept = append(r.Kept, h)
		}
	}
	return r, nil
}

func disk(d engine.Disk) Disk {
	r := Disk{Index: d.Index, Label: d.Label, Size: d.Size, Reader: d.Reader, Allocated: d.Allocated, Delivered: d.Delivered, Volume: d.Volume, Imported: d.Imported, Proved: d.Proved, SHA256: d.SHA256}
	if d.Manifest != nil {
		r.Root, r.Data = d.Manifest.Root, d.Manifest.Data
	}
	if d.Artifact != nil {
		r.Artifact = d.Artifact.Format + " " + d.Artifact.Digest
	}
	switch {
	case !d.Imported:
		r.Verdict = "not delivered"
	case d.Delivered != "" && d.Artifact != nil && d.Delivered == d.Artifact.Digest:
		r.Verdict = "equal: what was sent is what was read"
	case d.Delivered != "" || d.Artifact == nil:
		r.Verdict = "NOT PROVED: what was sent is not what was read"
	default:
		r.Verdict = "pulled by the cluster; every chunk served was compared with what was read"
	}
	return r
}

// JSON gives the report as indented JSON: exact, and yet without anything that could act on a terminal.
func (r Report) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	return plaintext.JSON(b), err
}
