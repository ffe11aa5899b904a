// Package report tells how a migration went: timeline, measured downtime, digests, decisions and who took them, checks, and
// what is left. It reads through the desk alone. Outside text in the Markdown form is cleaned; the JSON form is exact.
package report

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
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
	Root      string `json:"root"`      // Merkle root of SHA-256 over 1 MiB chunks, of what was read from the source
	Artifact  string `json:"artifact"`  // format and digest of what was delivered
	Delivered string `json:"delivered"` // digest of what was sent to its end and acknowledged
	Volume    string `json:"volume"`
	Imported  bool   `json:"imported"`
	Proved    bool   `json:"proved"` // the source was read twice while off
	Verdict   string `json:"verdict"`
}

// Build gathers the report.
func Build(ctx context.Context, desk engine.Desk, m engine.Migration) (Report, error) {
	st := m.Status
	r := Report{Name: m.Name(), UID: m.UID, VM: m.VMName(), Source: m.Document.Spec.Source.Address, Phase: st.Phase, Message: st.Message,
		Created: m.Created, CreatedBy: m.CreatedBy, Times: st.Times, Checks: st.Checks, Drift: st.Drift, Errors: st.Errors, Timeline: st.History, Left: st.Left}
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
	if d, running, ok := st.Times.Downtime(time.Time{}); ok && !running {
		r.Downtime = d.Round(time.Millisecond).String()
	}
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
	r := Disk{Index: d.Index, Label: d.Label, Size: d.Size, Reader: d.Reader, Allocated: d.Allocated, Delivered: d.Delivered, Volume: d.Volume, Imported: d.Imported, Proved: d.Proved}
	if d.Manifest != nil {
		r.Root, r.Data = d.Manifest.Root, d.Manifest.Data
	}
	if d.Artifact != nil {
		r.Artifact = d.Artifact.Format + " " + d.Artifact.Digest
	}
	switch {
	case !d.Imported:
		r.Verdict = "not delivered"
	case d.Artifact != nil && d.Delivered == d.Artifact.Digest:
		r.Verdict = "equal: what was sent is what was read"
	default:
		r.Verdict = "pulled by the cluster; every chunk served was compared with what was read"
	}
	return r
}

// JSON gives the report as indented JSON.
func (r Report) JSON() ([]byte, error) { return json.MarshalIndent(r, "", "  ") }

// Markdown gives the report for people.
func (r Report) Markdown() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Migration %s: %s\n", cell(r.Name), r.Phase)
	line("| | |\n|---|---|")
	row := func(k, v string) {
		if v != "" {
			line("| %s | %s |", k, cell(v))
		}
	}
	row("VM", r.VM+" ("+r.Ref.String()+")")
	row("Source", r.Source)
	row("Target", r.Target)
	row("Virtual machine", r.Machine)
	row("Migration", r.UID)
	row("Asked for", stamp(r.Created)+" by "+r.CreatedBy)
	row("Downtime, measured", r.Downtime)
	row("State", r.Message)
	line("\n## Disks\n")
	for _, d := range r.Disks {
		line("- disk %d (%s), %d bytes, %d of them data, reader %s", d.Index, cell(d.Label), d.Size, d.Data, orNone(d.Reader))
		line("  - read from the source: Merkle root `%s`%s", orNone(d.Root), map[bool]string{true: "; read twice and equal"}[d.Proved])
		line("  - delivered: `%s` into volume %s", orNone(d.Delivered), orNone(cell(d.Volume)))
		line("  - verdict: **%s**", d.Verdict)
	}
	section(line, "Checks", r.Checks, func(c targets.Result) string {
		return fmt.Sprintf("%s: passed %v — %s (%s)", c.Check.Type, c.Passed, cell(c.Detail), stamp(c.When))
	})
	section(line, "Decisions", r.Decisions, func(d engine.Decision) string {
		if d.Answer == "" {
			return cell(d.Question) + " — nobody answered"
		}
		return fmt.Sprintf("%s — **%s** by %s from %s at %s", cell(d.Question), cell(d.Answer), cell(d.By), cell(d.From), stamp(d.AnsweredAt))
	})
	section(line, "Timeline", r.Timeline, func(t engine.Transition) string {
		return fmt.Sprintf("%s %s → %s %s", stamp(t.Time), t.From, t.To, cell(t.Reason))
	})
	section(line, "Not carried over or changed", r.Notes, cell)
	section(line, "Drift of the source", r.Drift, cell)
	section(line, "Errors met", r.Errors, func(f engine.Failure) string {
		return fmt.Sprintf("%s %s, attempt %d: %s", stamp(f.Time), f.Phase, f.Attempt, cell(f.Message))
	})
	section(line, "Kept", r.Kept, func(h engine.Held) string { return cell(h.String()) })
	line("\n## Left behind\n")
	if len(r.Left) == 0 {
		line("Nothing.")
	}
	for _, h := range r.Left {
		line("- %s: %s", cell(h.String()), cell(h.Note))
	}
	return b.String()
}

func section[T any](line func(string, ...any), title string, rows []T, text func(T) string) {
	if len(rows) == 0 {
		return
	}
	line("\n## %s\n", title)
	for _, r := range rows {
		line("- %s", text(r))
	}
}

// cell cleans outside text and keeps it within its Markdown cell.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "`", "'", "<", "&lt;", "\n", " ").Replace(plaintext.Label(s))
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
