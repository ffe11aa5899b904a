package inventory

import (
	"fmt"
	"strings"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/plaintext"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

// View draws the totals, the table, and what does not fit in it of the VM under the cursor.
func (p *Page) View(width, height int) string {
	parts := []string{p.top(width)}
	left := height - 1
	foot := min(5, left/4)
	if len(p.snap.Inventory) == 0 {
		return parts[0] + "\n" + widget.Block(p.empty(width), width, left, p.th.Glyph.More)
	}
	cell := func(row, col int) string { return columns[col].text(p, p.rows[row]) }
	mark := func(row int) bool { return p.marks[idOf(p.snap.Inventory[p.rows[row]])] }
	parts = append(parts, p.table.View(p.th, width, left-foot, cell, mark))
	if foot > 0 {
		parts = append(parts, widget.Block(p.foot(width), width, foot, p.th.Glyph.More))
	}
	return strings.Join(parts, "\n")
}

// top is the filter and the totals.
func (p *Page) top(width int) string {
	if p.field.Focused() {
		return widget.Fit(" "+p.field.View()+p.th.Muted.Render("   power:on verdict:blocked ds:name !word"), width, p.th.Glyph.More)
	}
	s := widget.Count(len(p.snap.Inventory), "VM", "VMs")
	if len(p.filter.words) > 0 {
		s = fmt.Sprintf("%s of %s %s /%s", widget.Thousands(len(p.rows)), s, p.th.Glyph.Dot, p.field.Value())
		if p.filter.verdicts() && !p.verdicts.full {
			s += " " + p.th.Glyph.Dot + " judging them" + p.th.Glyph.More
		}
	}
	if len(p.marks) > 0 {
		s += " " + p.th.Glyph.Dot + " " + p.totals()
	}
	return widget.Fit(" "+p.th.Bold.Render(s), width, p.th.Glyph.More)
}

func (p *Page) totals() string {
	var n, cpus, disk int
	var memory, bytes int64
	for _, l := range p.snap.Inventory {
		if !p.marks[idOf(l)] {
			continue
		}
		n++
		cpus += int(l.VM.CPUs)
		disk += disks(l.VM)
		memory += l.VM.MemoryMiB << 20
		bytes += size(l.VM)
	}
	return fmt.Sprintf("%s marked: %d CPU, %s memory, %s, %s", widget.Thousands(n), cpus, widget.Bytes(memory),
		widget.Count(disk, "disk", "disks"), widget.Bytes(bytes))
}

func (p *Page) empty(width int) []string {
	var out []string
	say := func(s string) {
		for _, l := range widget.Fold(s, width-2) {
			out = append(out, " "+l)
		}
	}
	say("")
	if len(p.snap.Endpoints) == 0 {
		say(p.noSource)
	}
	for _, e := range p.snap.Endpoints {
		switch {
		case e.Failure != "":
			say(p.th.Bad.Render(p.th.Glyph.Bad+" ") + plaintext.Label(e.Name) + ": " + plaintext.Label(e.Failure))
		case e.Taken.IsZero():
			say(plaintext.Label(e.Name) + ": being listed" + p.th.Glyph.More)
		default:
			say(plaintext.Label(e.Name) + ": has no VMs")
		}
	}
	return out
}

// foot says of the VM under the cursor what the table may have no room for.
func (p *Page) foot(width int) []string {
	rule := p.th.Border.Render(strings.Repeat(p.th.Glyph.Rule, width))
	l, ok := p.current()
	if !ok {
		return []string{rule, " " + p.th.Muted.Render("no VM is like that; esc drops the filter")}
	}
	vm := l.VM
	row := func(label, text string) string { return " " + p.th.Muted.Render(widget.Fit(label, 8, "")) + text }
	return []string{
		rule,
		row("vm", plaintext.Label(vm.Ref.String())+p.sep()+plaintext.Label(l.Endpoint)+p.host(vm)+p.sep()+"folder "+orNone(vm.Folder)+p.sep()+plaintext.Label(vm.Name)),
		row("guest", orNone(guest(vm))+p.sep()+fmt.Sprintf("%d CPU, %s", vm.CPUs, widget.Bytes(vm.MemoryMiB<<20))+p.sep()+"Tools "+toolsWord(vm.Tools)+p.sep()+snapWord(vm)+p.addresses(vm)),
		row("disks", p.diskLine(vm)),
		row("state", p.stateLine(l)),
	}
}

func (p *Page) sep() string { return " " + p.th.Glyph.Dot + " " }

func (p *Page) host(vm machine.VM) string {
	if vm.Host == "" {
		return ""
	}
	return p.sep() + plaintext.Label(vm.Host)
}

func (p *Page) diskLine(vm machine.VM) string {
	if len(vm.DiskList) == 0 {
		return fmt.Sprintf("%d, %s", disks(vm), widget.Bytes(size(vm)))
	}
	var s []string
	for _, d := range vm.DiskList {
		s = append(s, fmt.Sprintf("%s %s [%s]", d.Where(), widget.Bytes(d.Capacity), plaintext.Label(d.Datastore)))
	}
	return strings.Join(s, ", ") + p.nics(vm)
}

func (p *Page) nics(vm machine.VM) string {
	var s []string
	for _, n := range vm.NICs {
		s = append(s, orNone(n.Network))
	}
	if len(s) == 0 {
		return ""
	}
	return p.sep() + "net " + strings.Join(s, ", ")
}

func (p *Page) stateLine(l engine.Listed) string {
	i := p.rows[p.table.Cursor()]
	s := verdictText(p, i)
	if s == "" {
		s = p.th.Muted.Render("not judged")
	} else if d, ok := p.preview(i); ok {
		s += p.th.Muted.Render(" as looked at " + d.Preview.Taken.Format("01-02 15:04"))
	} else {
		s += p.th.Muted.Render(" at first view, p looks closer")
	}
	if line, ok := p.lines[l.Migration]; ok && l.Migration != "" {
		glyph, style := pages.Sign(p.th, line)
		s += p.sep() + style.Render(glyph+" "+pages.Word(line.Phase)) + " as " + pages.Target(line)
	}
	return s
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return plaintext.Label(s)
}

func toolsWord(t machine.Tools) string {
	switch t {
	case machine.ToolsRunning:
		return "running"
	case machine.ToolsNotRunning:
		return "not running"
	case machine.ToolsMissing:
		return "not installed"
	case machine.ToolsUnknown:
	}
	return "unknown"
}

func snapWord(vm machine.VM) string {
	switch {
	case len(vm.SnapshotNames) > 0:
		return widget.Count(len(vm.SnapshotNames), "snapshot", "snapshots")
	case vm.Snapshots:
		return "has snapshots"
	}
	return "no snapshots"
}

func (p *Page) addresses(vm machine.VM) string {
	if len(vm.Addresses) == 0 {
		return ""
	}
	return p.sep() + plaintext.Label(strings.Join(vm.Addresses, " "))
}
