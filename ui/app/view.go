package app

import (
	"fmt"
	"runtime/debug"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"landfall/engine/plaintext"
	"landfall/ui/dialog"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/term"
	"landfall/ui/widget"
)

// The least screen on which pages are drawn.
const (
	leastWidth  = 60
	leastHeight = 15
)

func (m *Model) small() bool { return m.width < leastWidth || m.height < leastHeight }

// View draws the screen. A panic ends the console in order.
func (m *Model) View() (v tea.View) {
	defer func() {
		if r := recover(); r != nil {
			m.crash = &crashMsg{r, debug.Stack()}
			v = tea.NewView("")
			v.AltScreen = true
			if m.feed.Crash != nil {
				go m.feed.Crash(r, debug.Stack()) // the loop that would take it waits for this view
			}
		}
	}()
	content := m.screen()
	if m.gate.ASCII {
		content = term.ASCII(content)
	}
	v = tea.NewView(content)
	v.AltScreen = true
	v.WindowTitle = m.title()
	v.ProgressBar, v.ProgramStatus = m.progress(), m.status()
	return v
}

// screen gives exactly as many lines and cells as there are.
func (m *Model) screen() string {
	var s string
	if m.small() {
		s = m.essentials()
	} else {
		s = m.header() + "\n" + m.body(m.height-3) + "\n" + m.bottom()
	}
	if m.dialogs.Empty() {
		return s
	}
	if !dialog.Fits(m.width, m.height) {
		return widget.Block([]string{"a question is open:", "enlarge the terminal", "to answer it (esc: back)"}, m.width, m.height, "")
	}
	box := m.dialogs.View(m.th, m.width, m.height)
	x, y := max(0, (m.width-lipgloss.Width(box))/2), max(0, (m.height-lipgloss.Height(box))/2)
	return overlay(s, box, x, y)
}

// body is the page, once there is something to show.
func (m *Model) body(height int) string {
	if m.snap.Taken.IsZero() && m.at != atHelp {
		return widget.Block([]string{"", " reading the workspace" + m.th.Glyph.More}, m.width, height, "")
	}
	return m.page().View(m.width, height)
}

// overlay puts a box onto a screen.
func overlay(screen, box string, x, y int) string {
	lines := strings.Split(screen, "\n")
	for i, b := range strings.Split(box, "\n") {
		if y+i >= len(lines) {
			break
		}
		under := lines[y+i]
		left := widget.Fit(ansi.Truncate(under, x, ""), x, "")
		end := x + ansi.StringWidth(b)
		right := ansi.TruncateLeft(under, end, "")
		if end+ansi.StringWidth(right) > ansi.StringWidth(under) { // half of a wide character
			right = " " + ansi.TruncateLeft(under, end+1, "")
		}
		lines[y+i] = left + "\x1b[m" + b + "\x1b[m" + right
	}
	return strings.Join(lines, "\n")
}

// header is who is looked at, and the pages.
func (m *Model) header() string {
	sep := m.th.Muted.Render(" " + m.th.Glyph.Dot + " ")
	left := " " + m.th.Title.Render("landfall") + sep + plaintext.Label(m.cfg.Workspace) + sep + m.engine()
	right := m.sources(m.width-ansi.StringWidth(left)-3) + " "
	first := widget.Fit(left, max(0, m.width-ansi.StringWidth(right)), m.th.Glyph.More) + right
	return widget.Fit(first, m.width, m.th.Glyph.More) + "\n" + m.tabs()
}

func (m *Model) engine() string {
	if m.snap.Taken.IsZero() {
		return ""
	}
	if !m.snap.Alive {
		s := m.th.Bad.Render(m.th.Glyph.Bad + " no engine runs")
		if !m.cfg.ReadOnly && m.cfg.StartEngine != nil {
			s += ": " + m.th.Key.Render(keymap.StartEngine.Help().Key) + " starts it"
		}
		return s
	}
	s := m.th.Good.Render(m.th.Glyph.Done) + " engine runs"
	if v := m.snap.Beat.Version; v != "" && m.width >= 100 {
		s += " " + m.th.Muted.Render(plaintext.Label(v))
	}
	return s
}

// sources says where VMs come from and go to, as far as there is room.
func (m *Model) sources(room int) string {
	var names, contexts []string
	bad := 0
	for _, e := range m.snap.Endpoints {
		sign := m.th.Good.Render(m.th.Glyph.Done)
		switch {
		case e.Failure != "":
			sign = m.th.Bad.Render(m.th.Glyph.Bad)
			bad++
		case e.Taken.IsZero():
			sign = m.th.Muted.Render(m.th.Glyph.More)
		}
		names = append(names, sign+" "+plaintext.Label(e.Name))
		if c := plaintext.Label(e.Target.Context); c != "" && !contains(contexts, c) {
			contexts = append(contexts, c)
		}
	}
	to := ""
	if len(contexts) > 0 {
		to = " " + m.th.Glyph.Arrow + " " + strings.Join(contexts, ", ")
	}
	s := strings.Join(names, " ") + to
	if ansi.StringWidth(s) <= room {
		return s
	}
	s = widget.Count(len(names), "source", "sources")
	if bad > 0 {
		s = m.th.Bad.Render(fmt.Sprintf("%s %d of %s", m.th.Glyph.Bad, bad, s))
	}
	if len(contexts) > 1 {
		to = fmt.Sprintf(" %s %d clusters", m.th.Glyph.Arrow, len(contexts))
	}
	return ansi.Truncate(s+to, max(0, room), m.th.Glyph.More)
}

func contains(all []string, s string) bool {
	for _, a := range all {
		if a == s {
			return true
		}
	}
	return false
}

func (m *Model) tabs() string {
	active := 0
	for _, l := range m.snap.Lines {
		if !l.Phase.Terminal() {
			active++
		}
	}
	count := func(name string, n int) string {
		if n == 0 {
			return name
		}
		return name + " " + widget.Thousands(n)
	}
	names := []string{"1 Inventory", count("2 Migrations", active), count("3 Decisions", len(m.snap.Waiting)), "? Help"}
	at := min(int(m.at), len(names))
	switch m.at {
	case atMigration:
		names = append(names, plaintext.Label(m.lineOf(m.one.UID()).VM))
	case atPreflight:
		names = append(names, "Pre-flight")
	case atPlan:
		names = append(names, "Plan")
	}
	right := ""
	if m.cfg.ReadOnly {
		right = m.th.Muted.Render("read-only ")
	}
	return widget.Tabs(m.th, names, at, max(0, m.width-ansi.StringWidth(right))) + right
}

// bottom is what was just said, or the keys; and how many decisions wait.
func (m *Model) bottom() string {
	right := ""
	if n := len(m.snap.Waiting); n > 0 {
		right = m.th.Warn.Render(" "+m.th.Glyph.Ask+" "+widget.Count(n, "decision waits", "decisions wait")) + " "
	}
	room := max(0, m.width-ansi.StringWidth(right)-1)
	var left string
	switch {
	case m.toast != "":
		left = m.th.Bold.Render(plaintext.Label(m.toast))
	case m.snap.Failure != "":
		left = m.th.Bad.Render(m.th.Glyph.Bad + " " + plaintext.Label(m.snap.Failure))
	default:
		left = widget.Hints(m.th, m.keys(), room)
	}
	return " " + widget.Fit(left, room, m.th.Glyph.More) + right
}

func (m *Model) keys() []keymap.Binding {
	if !m.dialogs.Empty() {
		return m.dialogs.Keys()
	}
	keys := m.page().Keys()
	if m.page().Typing() {
		return []keymap.Binding{keymap.Accept, keymap.Back}
	}
	short := keymap.Quit
	short.SetHelp("q", "detach")
	return append(append([]keymap.Binding(nil), keys[:min(4, len(keys))]...), append([]keymap.Binding{keymap.Help, short}, keys[min(4, len(keys)):]...)...)
}

// essentials are for a screen that is too small for pages.
func (m *Model) essentials() string {
	lines := []string{fmt.Sprintf("%dx%d is too small: %dx%d", m.width, m.height, leastWidth, leastHeight)}
	if !m.snap.Alive {
		lines = append(lines, m.th.Bad.Render(m.th.Glyph.Bad+" no engine runs"))
	}
	if n := len(m.snap.Waiting); n > 0 {
		lines = append(lines, m.th.Warn.Render(m.th.Glyph.Ask+" "+widget.Count(n, "decision waits", "decisions wait")))
	}
	for _, l := range m.snap.Lines {
		if l.Phase.Terminal() {
			continue
		}
		glyph, style := pages.Sign(m.th, l)
		s := style.Render(glyph) + " " + plaintext.Label(l.VM) + " " + pages.Word(l.Phase)
		if n := widget.Percent(l.Done, l.Total); n >= 0 {
			s += fmt.Sprintf(" %d%%", n)
		}
		lines = append(lines, s)
	}
	if m.toast != "" {
		lines[0] = m.toast
	}
	if m.height > 1 {
		lines = widget.Limit(lines, m.height-1, m.th.Glyph.More)
		for len(lines) < m.height-1 {
			lines = append(lines, "")
		}
		lines = append(lines, "q detaches")
	}
	return widget.Block(lines, m.width, m.height, m.th.Glyph.More)
}
