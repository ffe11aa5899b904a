package app

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"landfall/ui/widget"
)

// title is the window's.
func (m *Model) title() string {
	if n := len(m.snap.Waiting); n > 0 {
		return fmt.Sprintf("(%d) %s", n, m.cfg.Title)
	}
	return m.cfg.Title
}

// progress is the terminal's own bar: all that moves, together.
func (m *Model) progress() *tea.ProgressBar {
	if !m.gate.Progress || m.quit {
		return nil
	}
	var done, total int64
	for _, l := range m.snap.Lines {
		if !l.Phase.Terminal() {
			done, total = done+l.Done, total+l.Total
		}
	}
	n := widget.Percent(done, total)
	switch {
	case n < 0:
		return nil
	case len(m.snap.Waiting) > 0:
		return tea.NewProgressBar(tea.ProgressBarWarning, n)
	}
	return tea.NewProgressBar(tea.ProgressBarDefault, n)
}

// status tells terminals that show it whether a person is wanted.
func (m *Model) status() *tea.ProgramStatus {
	switch {
	case m.quit:
		return &tea.ProgramStatus{App: "landfall", State: tea.ProgramStateIdle}
	case len(m.snap.Waiting) > 0:
		return &tea.ProgramStatus{App: "landfall", State: tea.ProgramStateBlocked, Kind: tea.ProgramStatusKindQuestion}
	case m.snap.Moving():
		return &tea.ProgramStatus{App: "landfall", State: tea.ProgramStateWorking}
	}
	return &tea.ProgramStatus{App: "landfall", State: tea.ProgramStateIdle}
}
