package inventory

import (
	"cmp"
	"strconv"
	"strings"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/plaintext"
	"landfall/engine/preflight"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

// column is one of the table's, with how it is drawn and ordered.
type column struct {
	widget.Column
	text   func(p *Page, i int) string
	order  func(p *Page, a, b int) int
	moves  bool // depends on migrations
	judges bool // depends on verdicts
}

var columns = []column{
	{Column: widget.Column{Title: "NAME", Min: 17, Want: 32, Flex: true},
		text:  nameText,
		order: by(func(p *Page, i int) string { return strings.ToLower(p.vm(i).VM.Name) })},
	{Column: widget.Column{Title: "FOLDER", Min: 8, Want: 20, Rank: 7},
		text:  func(p *Page, i int) string { return plaintext.Label(p.vm(i).VM.Folder) },
		order: by(func(p *Page, i int) string { return strings.ToLower(p.vm(i).VM.Folder) })},
	{Column: widget.Column{Title: "POWER", Min: 5, Want: 5},
		text:  powerText,
		order: by(func(p *Page, i int) string { return string(p.vm(i).VM.Power) })},
	{Column: widget.Column{Title: "GUEST", Min: 10, Want: 22, Rank: 6},
		text:  func(p *Page, i int) string { return plaintext.Label(guest(p.vm(i).VM)) },
		order: by(func(p *Page, i int) string { return strings.ToLower(guest(p.vm(i).VM)) })},
	{Column: widget.Column{Title: "CPU", Min: 3, Want: 4, Right: true, Rank: 2},
		text:  func(p *Page, i int) string { return strconv.Itoa(int(p.vm(i).VM.CPUs)) },
		order: by(func(p *Page, i int) int32 { return p.vm(i).VM.CPUs })},
	{Column: widget.Column{Title: "MEMORY", Min: 7, Want: 8, Right: true, Rank: 2},
		text:  func(p *Page, i int) string { return widget.Bytes(p.vm(i).VM.MemoryMiB << 20) },
		order: by(func(p *Page, i int) int64 { return p.vm(i).VM.MemoryMiB })},
	{Column: widget.Column{Title: "DSK", Min: 3, Want: 3, Right: true, Rank: 3},
		text:  func(p *Page, i int) string { return strconv.Itoa(disks(p.vm(i).VM)) },
		order: by(func(p *Page, i int) int { return disks(p.vm(i).VM) })},
	{Column: widget.Column{Title: "SIZE", Min: 7, Want: 8, Right: true},
		text:  func(p *Page, i int) string { return widget.Bytes(size(p.vm(i).VM)) },
		order: by(func(p *Page, i int) int64 { return size(p.vm(i).VM) })},
	{Column: widget.Column{Title: "TOOLS", Min: 7, Want: 8, Rank: 4},
		text:  toolsText,
		order: by(func(p *Page, i int) string { return string(p.vm(i).VM.Tools) })},
	{Column: widget.Column{Title: "SNAP", Min: 5, Want: 5, Rank: 5},
		text:  snapText,
		order: by(func(p *Page, i int) int { return snaps(p.vm(i).VM) })},
	{Column: widget.Column{Title: "VERDICT", Min: 13, Want: 15},
		text:   verdictText,
		order:  by(func(p *Page, i int) int { return p.newest(i).weight() }),
		judges: true},
	{Column: widget.Column{Title: "MIGRATION", Min: 13, Want: 13, Rank: 1},
		text:  migrationText,
		order: by(func(p *Page, i int) string { return string(p.phase(*p.vm(i))) }),
		moves: true},
}

func by[T cmp.Ordered](of func(p *Page, i int) T) func(p *Page, a, b int) int {
	return func(p *Page, a, b int) int { return cmp.Compare(of(p, a), of(p, b)) }
}

func nameText(p *Page, i int) string {
	if n := p.vm(i).VM.Name; n != "" {
		return plaintext.Label(n)
	}
	return p.th.Muted.Render("(no name)")
}

func guest(vm machine.VM) string {
	if vm.Guest != "" {
		return vm.Guest
	}
	return vm.GuestID
}

func disks(vm machine.VM) int { return max(len(vm.DiskList), int(vm.Disks)) }

// size is the disks' capacity, as far as it is known.
func size(vm machine.VM) int64 {
	var n int64
	for _, d := range vm.DiskList {
		n += d.Capacity
	}
	if n == 0 {
		return vm.Provision
	}
	return n
}

func snaps(vm machine.VM) int {
	if n := len(vm.SnapshotNames); n > 0 {
		return n
	}
	if vm.Snapshots {
		return 1
	}
	return 0
}

func snapText(p *Page, i int) string {
	vm := p.vm(i).VM
	switch {
	case len(vm.SnapshotNames) > 0:
		return p.th.Warn.Render(strconv.Itoa(len(vm.SnapshotNames)))
	case vm.Snapshots:
		return p.th.Warn.Render("yes")
	}
	return ""
}

func powerText(p *Page, i int) string {
	switch w := p.vm(i).VM.Power; w {
	case machine.On:
		return p.th.Good.Render("on")
	case machine.Suspended:
		return p.th.Warn.Render("susp")
	case machine.Off:
		return "off"
	case machine.PowerUnknown:
	}
	return p.th.Muted.Render("?")
}

func toolsText(p *Page, i int) string {
	switch p.vm(i).VM.Tools {
	case machine.ToolsRunning:
		return "running"
	case machine.ToolsNotRunning:
		return p.th.Warn.Render("stopped")
	case machine.ToolsMissing:
		return p.th.Warn.Render("none")
	case machine.ToolsUnknown:
	}
	return p.th.Muted.Render("?")
}

func verdictText(p *Page, i int) string {
	v := p.newest(i)
	if !v.looked {
		v = p.verdicts.at(i, *p.vm(i))
	}
	s := plaintext.Label(v.label)
	if s != "" && !v.looked {
		s += p.th.Glyph.First
	}
	switch v.level {
	case preflight.Blocker:
		return p.th.Bad.Render(p.th.Glyph.Bad + " " + s)
	case preflight.Decide:
		return p.th.Warn.Render(p.th.Glyph.Ask + " " + s)
	case preflight.Warning:
		return p.th.Warn.Render(p.th.Glyph.Warn + " " + s)
	case preflight.Info:
	}
	if s == "" {
		return ""
	}
	return p.th.Good.Render(p.th.Glyph.Done + " " + s)
}

func migrationText(p *Page, i int) string {
	l := *p.vm(i)
	ph := p.phase(l)
	if ph == "" {
		return ""
	}
	line, ok := p.lines[l.Migration]
	if !ok {
		line = engine.Line{Phase: ph}
	}
	glyph, style := pages.Sign(p.th, line)
	return style.Render(glyph + " " + pages.Word(ph))
}
