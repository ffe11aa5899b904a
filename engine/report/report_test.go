package report_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/report"
	"landfall/engine/spec"
	"landfall/engine/transfer"
	"landfall/sources"
	"landfall/targets"
)

var update = flag.Bool("update", false, "write the golden files")

// desk keeps what a report asks for; any other question fails the test.
type desk struct {
	engine.Desk
	decisions []engine.Decision
	held      []engine.Held
	err       error
}

func (d desk) Decisions(context.Context, string) ([]engine.Decision, error) {
	return d.decisions, d.err
}
func (d desk) Held(context.Context, string) ([]engine.Held, error) { return d.held, d.err }

var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func at(minutes float64) time.Time {
	return start.Add(time.Duration(minutes * float64(time.Minute)))
}

func digest(c string) string { return strings.Repeat(c, 64) }

// completed is a migration of two disks, one sent and one fetched, that went well.
func completed() (desk, engine.Migration) {
	m := engine.Migration{
		UID: "0f3c", Created: start, CreatedBy: "ada",
		Document: spec.Document{Metadata: spec.Metadata{Name: "web"}, Spec: spec.Spec{Source: spec.Source{Address: "esxi1.example", VM: spec.VM{Name: "web-01"}}}},
		Status: engine.Status{
			Phase: engine.Completed, Message: "every check passed",
			Inventory: &machine.VM{Summary: machine.Summary{Ref: machine.Ref{MoRef: "vm-12"}, Name: "web-01"}},
			Source:    &sources.About{Product: "VMware ESXi 8.0.2 build-22380479"},
			Target:    &targets.About{Context: "lab", Server: "https://192.0.2.1:6443", Kubernetes: "v1.34.1", KubeVirt: "v1.6.2", CDI: "v1.63.0"},
			Machine:   &engine.MachineRef{Namespace: "vms", Name: "web-01", UID: "u"},
			Plan:      &targets.Plan{Notes: []string{"the TPM starts empty", "1. NICs are virtio"}},
			Times:     engine.Times{Created: start, SourcePoweredOff: at(2), VMStarted: at(9.5), Completed: at(11)},
			Disks: []engine.Disk{
				{Index: 0, Label: "Hard disk 1", Size: 10 << 30, Reader: "folder", Allocated: 2 << 30, Acquired: true, Proved: true, Volume: "web-01-disk-0", Imported: true,
					Manifest:  &transfer.Manifest{Root: digest("a"), Data: 1 << 30, Size: 10 << 30},
					Artifact:  &engine.Artifact{Format: "raw", Digest: digest("a"), Length: 10 << 30},
					Delivered: digest("a")},
				{Index: 1, Label: "Hard disk 2", Size: 1 << 30, Reader: "folder", Allocated: -1, Acquired: true, Volume: "web-01-disk-1", Imported: true,
					Manifest: &transfer.Manifest{Root: digest("b"), Size: 1 << 30},
					Artifact: &engine.Artifact{Format: "qcow2", Digest: digest("c"), Length: 200_000}},
			},
			Checks: []targets.Result{{Check: spec.Check{Type: "HTTP", Port: 80, Path: "/"}, Passed: true, Detail: `200, "hello_from disk_0"`, When: at(10)}},
			History: []engine.Transition{
				{From: engine.Pending, To: engine.Discovering, Time: at(0.1)},
				{From: engine.Preparing, To: engine.Retryable, Time: at(3), Reason: "EarlyEnd"},
				{From: engine.Validating, To: engine.Completed, Time: at(11), Reason: "Passed"},
			},
			Errors: []engine.Failure{{Phase: engine.Preparing, Attempt: 1, Class: "Transient", Reason: "EarlyEnd", Message: "disk 0: the stream ended early", Time: at(3)}},
		},
	}
	return desk{
		decisions: []engine.Decision{{Question: "web-01 is still on. Power it off hard?", Answer: "hard", By: "ada", From: "pts/3", AnsweredAt: at(1.5)},
			{Question: "disk 0: independent. Accept?"}},
		held: []engine.Held{{Kind: "virtualmachine", Where: "vms", Name: "web-01", Keep: true}, {Kind: "staging", Where: "/var/lib/landfall", Name: "0f3c"}},
	}, m
}

// hostile is text that every field from outside may hold.
const hostile = "a\x1b[31m\u202eb\u009b2J\r\n# h | `x` <script>alert(1)</script> ![i](http://e/x.png) **b** __u__ ~~s~~ &lt; \\| \\\\| \xff\u200b"

// cancelled is one that was given up half-way, with hostile text wherever text comes from outside.
func cancelled() (desk, engine.Migration) {
	d, m := completed()
	m.Document.Metadata.Name, m.Document.Spec.Source.VM.Name, m.Document.Spec.Source.Address, m.CreatedBy = hostile, hostile, hostile, hostile
	st := &m.Status
	st.Phase, st.Message = engine.Cancelled, hostile
	st.Inventory.Ref.MoRef, st.Inventory.Name, st.Source.Product = hostile, hostile, hostile
	*st.Target = targets.About{Context: hostile, Server: hostile, Kubernetes: hostile, KubeVirt: hostile, CDI: hostile}
	*st.Machine = engine.MachineRef{Namespace: hostile, Name: hostile}
	st.Plan.Notes = []string{hostile, "# heading", "1. list", "12) list", "- list", "+ list", "> quote", "     code", "===", "---", "", "~~~", "```sh", "[x]: http://evil", "snake_case_name _em_"}
	st.Drift = []string{hostile}
	st.Times.VMStarted, st.Times.Completed = time.Time{}, at(4)
	for i := range st.Disks {
		disk := &st.Disks[i]
		disk.Label, disk.Reader, disk.Volume, disk.Imported, disk.Proved, disk.Delivered = hostile, hostile, hostile, false, false, hostile
		disk.Manifest, disk.Artifact = nil, nil
	}
	st.Checks = []targets.Result{{Check: spec.Check{Type: hostile}, Detail: hostile}}
	st.History = []engine.Transition{{From: engine.Preparing, To: engine.Cancelling, Time: at(3), Reason: hostile}}
	st.Errors = []engine.Failure{{Phase: engine.Preparing, Attempt: 2, Reason: hostile, Message: hostile, Time: at(3)}}
	st.Left = []engine.Held{{Kind: "datavolume", Where: hostile, Name: hostile, Note: hostile}, {Kind: "staging", Where: "/s", Name: "x"}}
	d.decisions = []engine.Decision{{Question: hostile, Answer: hostile, By: hostile, From: hostile, AnsweredAt: at(3)}, {Question: hostile}}
	d.held = []engine.Held{{Kind: hostile, Where: hostile, Name: hostile, Keep: true}}
	return d, m
}

func build(t *testing.T, d desk, m engine.Migration) report.Report {
	t.Helper()
	r, err := report.Build(t.Context(), d, m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func of(t *testing.T, make func() (desk, engine.Migration)) report.Report {
	t.Helper()
	d, m := make()
	return build(t, d, m)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-file +report):\n%s", path, d)
	}
}

func TestMarkdown(t *testing.T) {
	for name, make := range map[string]func() (desk, engine.Migration){"completed.md": completed, "cancelled.md": cancelled} {
		t.Run(name, func(t *testing.T) { golden(t, name, of(t, make).Markdown()) })
	}
}

func TestNothingRawGetsThrough(t *testing.T) {
	text := of(t, cancelled).Markdown()
	for i, line := range strings.Split(text, "\n") {
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("line %d: %q", i+1, line)
		}
		for _, raw := range []string{"<script", "![", "](", "**b**", "~~s", "\xff"} {
			if strings.Contains(strings.ReplaceAll(line, `\`+raw, ""), raw) {
				t.Errorf("line %d holds %s raw: %q", i+1, raw, line)
			}
		}
		if strings.HasPrefix(line, "|") && bars(line) != 3 {
			t.Errorf("line %d has %d bars: %q", i+1, bars(line), line)
		}
	}
}

// bars counts the bars that divide cells: those that no backslash takes.
func bars(line string) (n int) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			n++
		}
	}
	return n
}

func TestJSONIsExact(t *testing.T) {
	for name, make := range map[string]func() (desk, engine.Migration){"completed": completed, "cancelled": cancelled, "nothing known": func() (desk, engine.Migration) { return desk{}, engine.Migration{} }} {
		t.Run(name, func(t *testing.T) {
			r := of(t, make)
			b, err := r.JSON()
			if err != nil {
				t.Fatal(err)
			}
			if strings.ContainsFunc(string(b), func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
				t.Errorf("acts on a terminal: %q", b)
			}
			var back report.Report
			if err := json.Unmarshal(b, &back); err != nil {
				t.Fatal(err)
			}
			// JSON has no bytes that are no UTF-8.
			want := report.Report{}
			plain, _ := json.Marshal(r)
			if err := json.Unmarshal(plain, &want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, back); d != "" {
				t.Errorf("(-report +read back):\n%s", d)
			}
			if name == "completed" {
				if d := cmp.Diff(r, back); d != "" {
					t.Errorf("(-report +read back):\n%s", d)
				}
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	raw := &engine.Artifact{Format: "raw", Digest: digest("a")}
	for name, c := range map[string]struct {
		disk engine.Disk
		want string
	}{
		"sent and acknowledged":       {engine.Disk{Imported: true, Artifact: raw, Delivered: digest("a")}, "equal"},
		"not yet":                     {engine.Disk{Artifact: raw, Delivered: digest("a")}, "not delivered"},
		"fetched by the cluster":      {engine.Disk{Imported: true, Artifact: raw}, "pulled"},
		"another digest":              {engine.Disk{Imported: true, Artifact: raw, Delivered: digest("b")}, "NOT PROVED"},
		"nothing known of what it is": {engine.Disk{Imported: true}, "NOT PROVED"},
		"no digest at all":            {engine.Disk{Imported: true, Artifact: &engine.Artifact{}}, "pulled"},
	} {
		t.Run(name, func(t *testing.T) {
			_, m := completed()
			m.Status.Disks = []engine.Disk{c.disk}
			if got := build(t, desk{}, m).Disks[0].Verdict; !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestDowntime(t *testing.T) {
	_, m := completed()
	if got := build(t, desk{}, m).Downtime; got != "7m30s" {
		t.Errorf("got %q", got)
	}
	_, m = cancelled()
	if r := build(t, desk{}, m); r.Downtime != "" || !strings.Contains(r.Markdown(), "Source seen off") {
		t.Errorf("a target that never ran has ended a downtime of %q", r.Downtime)
	}
}

func TestMigrationThatIsNotOver(t *testing.T) {
	_, m := completed()
	m.Status.Phase = engine.Importing
	if text := build(t, desk{}, m).Markdown(); strings.Contains(text, "Nothing.") {
		t.Error("says that nothing is left before the end")
	}
}

func TestDeskThatFails(t *testing.T) {
	_, m := completed()
	broken := errors.New("database is busy")
	if _, err := report.Build(t.Context(), desk{err: broken}, m); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
