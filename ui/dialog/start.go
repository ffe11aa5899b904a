package dialog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/plaintext"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

// Start shows what is about to be migrated, and how, before it starts. It starts on Cancel.
type Start struct {
	guard
	plans []plan
	at    int
	pane  widget.Pane
}

type plan struct {
	vm      engine.Listed
	doc     spec.Document
	label   string
	level   preflight.Level
	problem string // why it cannot start
}

// NewStart asks about VMs, each with the document that would be applied.
func NewStart(vms []engine.Listed, document func(engine.Listed) spec.Document, verdict pages.Verdict, now time.Time) *Start {
	s := &Start{guard: guard{opened: now}}
	taken := map[string]string{}
	for _, l := range vms {
		p := plan{vm: l, doc: document(l)}
		if verdict != nil {
			p.label, p.level = verdict(l)
		}
		if err := p.doc.Validate(); err != nil {
			p.problem = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		if d := p.doc.Spec.Destination; d.VMName != "" && p.problem == "" {
			key := d.Kubeconfig + "\x00" + d.Context + "\x00" + d.Namespace + "/" + d.VMName
			if other, ok := taken[key]; ok {
				p.problem = fmt.Sprintf("%s/%s would be the target of %s too", d.Namespace, d.VMName, other)
			} else {
				taken[key] = l.VM.Name
			}
		}
		s.plans = append(s.plans, p)
	}
	return s
}

// Title of the frame.
func (s *Start) Title() string {
	if len(s.plans) == 1 {
		return "Migrate " + plaintext.Label(s.plans[0].vm.VM.Name)
	}
	return fmt.Sprintf("Migrate %d VMs", len(s.plans))
}

// Set needs nothing of a snapshot.
func (s *Start) Set(*feed.Snapshot, time.Time) pages.Action { return nil }

func (s *Start) ready() []spec.Document {
	var out []spec.Document
	for _, p := range s.plans {
		if p.problem == "" {
			out = append(out, p.doc)
		}
	}
	return out
}

// Update takes a key.
func (s *Start) Update(msg tea.Msg, now time.Time) (pages.Action, bool) {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil, false
	}
	pasted := s.pressed(now)
	if s.deafTo(now) {
		return nil, false
	}
	switch {
	case keymap.Back.Hit(k):
		return nil, true
	case keymap.Accept.Hit(k):
		docs := s.ready()
		switch {
		case pasted:
			return nil, false
		case s.at == 0 || len(docs) == 0:
			return nil, true
		}
		return pages.Start{Documents: docs}, true
	case keymap.Up.Hit(k), keymap.Down.Hit(k), keymap.PageUp.Hit(k), keymap.PageDown.Hit(k):
		s.pane.Press(k)
	case keymap.NextChoice.Hit(k), keymap.PrevChoice.Hit(k):
		s.at = 1 - s.at
	}
	return nil, false
}

// Lines draws the facts, which scroll, and the buttons.
func (s *Start) Lines(th theme.Theme, width, height int) []string {
	sheet := &widget.Sheet{Theme: th, Width: width, Label: 9}
	if len(s.plans) == 1 {
		one(sheet, s.plans[0])
	} else {
		many(sheet, s.plans)
	}
	names := []string{"Cancel", "Start"}
	n := len(s.ready())
	switch {
	case n == 0:
		names = []string{"Back"}
	case n < len(s.plans) || n > 1:
		names[1] = fmt.Sprintf("Start %d", n)
	}
	at := min(s.at, len(names)-1)
	room := min(len(sheet.Lines), height-2)
	return append(strings.Split(s.pane.View(th, sheet.Lines, width, room), "\n"), "", buttons(th, names, at))
}

func one(s *widget.Sheet, p plan) {
	sp := p.doc.Spec.Default()
	vm := p.vm.VM
	s.Row("from", plaintext.Label(p.vm.Endpoint+" "+vm.Folder)+", "+plaintext.Label(vm.Ref.String())+", power "+string(vm.Power))
	s.Row("to", s.Theme.Bold.Render(target(sp.Destination))+cluster(sp.Destination))
	s.Row("power-off", policy(sp.Source))
	s.Row("copy", fmt.Sprintf("%s, %s, conversion %s, delivery %s, verify %s", sp.Strategy.Type, diskWord(vm), sp.Strategy.Conversion, sp.Strategy.Delivery, sp.Strategy.Verify))
	storage(s, sp, vm)
	networks(s, sp, vm)
	s.Row("then", "run strategy "+plaintext.Label(sp.Destination.RunStrategy)+", "+checks(sp.Validation))
	verdictRow(s, p)
}

func diskWord(vm machine.VM) string {
	n := vm.Provision
	if len(vm.DiskList) > 0 {
		n = 0
		for _, d := range vm.DiskList {
			n += d.Capacity
		}
	}
	return widget.Count(max(len(vm.DiskList), int(vm.Disks)), "disk", "disks") + " of " + widget.Bytes(n)
}

func target(d spec.Destination) string {
	name := d.VMName
	if name == "" {
		name = "(name from the VM's)"
	}
	return plaintext.Label(d.Namespace + "/" + name)
}

func cluster(d spec.Destination) string {
	if d.Context == "" {
		return ""
	}
	return " in " + plaintext.Label(d.Context)
}

func policy(s spec.Source) string {
	within := widget.Span(s.ShutdownTimeout())
	switch s.PowerOffPolicy {
	case spec.GracefulThenAsk:
		return "the guest is shut down; if it does not within " + within + ", you are asked"
	case spec.Graceful:
		return "the guest is shut down, never by force (" + within + ")"
	case spec.GracefulThenForce:
		return "the guest is shut down; if it does not within " + within + ", it is powered off hard"
	case spec.Never:
		return "never: the VM must be off already"
	}
	return plaintext.Label(string(s.PowerOffPolicy))
}

func storage(s *widget.Sheet, sp spec.Spec, vm machine.VM) {
	seen := map[string]bool{}
	for _, d := range vm.DiskList {
		if seen[d.Datastore] {
			continue
		}
		seen[d.Datastore] = true
		to := s.Theme.Warn.Render("no mapping: the cluster's default class")
		if m, ok := sp.StorageFor(d.Datastore); ok {
			to = plaintext.Label(strings.Join(strings.Fields(m.StorageClass+" "+m.VolumeMode), " "))
		}
		s.Row("datastore", plaintext.Label(d.Datastore)+" "+s.Theme.Glyph.Arrow+" "+to)
	}
}

func networks(s *widget.Sheet, sp spec.Spec, vm machine.VM) {
	for _, n := range vm.NICs {
		to := s.Theme.Warn.Render("no mapping")
		if m, ok := sp.NetworkFor(n); ok {
			to = plaintext.Label(strings.Join(strings.Fields(m.Type+" "+m.Name+" "+m.Binding), " "))
		}
		name := n.Network
		if name == "" {
			name = "(none)"
		}
		s.Row("network", plaintext.Label(name)+" "+s.Theme.Glyph.Arrow+" "+to)
	}
}

func checks(v spec.Validation) string {
	var out []string
	if v.RequireGuestAgent {
		out = append(out, "guest agent")
	}
	for _, c := range v.Checks {
		if c.Port > 0 {
			out = append(out, fmt.Sprintf("%s :%d%s", c.Type, c.Port, c.Path))
		} else {
			out = append(out, c.Type)
		}
	}
	if len(out) == 0 {
		return "no check besides that it runs"
	}
	return "checks: " + plaintext.Label(strings.Join(out, ", "))
}

func verdictRow(s *widget.Sheet, p plan) {
	switch {
	case p.problem != "":
		s.Row("problem", s.Theme.Bad.Render(s.Theme.Glyph.Bad+" "+plaintext.Label(p.problem)))
	case p.level == preflight.Blocker:
		s.Row("verdict", s.Theme.Bad.Render(s.Theme.Glyph.Bad+" "+plaintext.Label(p.label))+": it will stop in Validated and say what to mend")
	case p.level == preflight.Decide:
		s.Row("verdict", s.Theme.Warn.Render(s.Theme.Glyph.Ask+" "+plaintext.Label(p.label))+": it will ask in Validated")
	case p.label != "":
		s.Row("verdict", plaintext.Label(p.label))
	}
}

func many(s *widget.Sheet, plans []plan) {
	policies := map[string]int{}
	for _, p := range plans {
		sp := p.doc.Spec.Default()
		policies[policy(sp.Source)]++
		sign := s.Theme.Good.Render(s.Theme.Glyph.Done)
		if p.problem != "" || p.level == preflight.Blocker {
			sign = s.Theme.Bad.Render(s.Theme.Glyph.Bad)
		} else if p.level == preflight.Decide {
			sign = s.Theme.Warn.Render(s.Theme.Glyph.Ask)
		}
		s.Line(sign + " " + widget.Fit(plaintext.Label(p.vm.VM.Name), 22, s.Theme.Glyph.More) + " " + s.Theme.Glyph.Arrow + " " + target(sp.Destination) +
			s.Theme.Muted.Render("  "+plaintext.Label(p.label)))
		if p.problem != "" {
			s.Say("  "+s.Theme.Bad.Render(plaintext.Label(p.problem)), 2)
		}
	}
	s.Blank()
	for _, text := range slices.Sorted(maps.Keys(policies)) {
		s.Row("power-off", text)
	}
}
