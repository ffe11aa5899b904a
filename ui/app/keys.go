package app

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/ui/dialog"
	"landfall/ui/keymap"
)

// twice is how soon the second ctrl+c must follow the first.
const twice = 2 * time.Second

// press routes a key: leaving first, then the topmost dialog, then what types text, then everywhere, then the page.
func (m *Model) press(k tea.KeyPressMsg) tea.Cmd {
	if keymap.Leave.Hit(k) {
		if m.now.Sub(m.leaving) < twice {
			m.quit = true
			return tea.Quit
		}
		m.leaving = m.now
		m.toast = "ctrl+c again leaves; the engine goes on"
		return nil
	}
	m.toast = ""
	switch {
	case keymap.Suspend.Hit(k):
		return tea.Suspend
	case keymap.Redraw.Hit(k):
		return tea.ClearScreen
	case !m.dialogs.Empty():
		if !dialog.Fits(m.width, m.height) && !keymap.Back.Hit(k) {
			return nil // what cannot be seen is not answered
		}
		return m.do(m.dialogs.Update(k, m.now))
	case m.page().Typing():
		if keymap.Back.Hit(k) {
			m.page().Back()
			return nil
		}
		return m.do(m.page().Update(k))
	}
	if cmd, ok := m.everywhere(k); ok {
		return cmd
	}
	if m.small() {
		return nil
	}
	return m.do(m.page().Update(k))
}

func (m *Model) everywhere(k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch {
	case keymap.Quit.Hit(k):
		m.quit = true
		return tea.Quit, true
	case keymap.Back.Hit(k):
		if !m.page().Back() {
			m.back()
		}
	case keymap.Inventory.Hit(k):
		m.show(atInventory)
	case keymap.Migrations.Hit(k):
		m.show(atMigrations)
	case keymap.Decisions.Hit(k):
		m.show(atDecisions)
	case keymap.Help.Hit(k):
		m.help.Show(groups[m.at])
		m.show(atHelp)
	case keymap.Copy.Hit(k):
		return m.copy(m.page().Selected()), true
	case keymap.StartEngine.Hit(k):
		return m.startEngine(), true
	default:
		return nil, false
	}
	return nil, true
}

// paste goes to what types text; a dialog hears of it, but nothing pasted approves.
func (m *Model) paste(msg tea.PasteMsg) tea.Cmd {
	switch {
	case !m.dialogs.Empty():
		return m.do(m.dialogs.Update(msg, m.cfg.Now()))
	case m.page().Typing():
		return m.do(m.page().Update(msg))
	}
	return nil
}

// copy puts a text into the clipboard of the operator's terminal, and shows it, since not every terminal takes it.
func (m *Model) copy(text string) tea.Cmd {
	if text == "" {
		m.toast = "nothing is selected"
		return nil
	}
	m.toast = "copied: " + text
	if seq := m.gate.Clipboard(text); seq != "" {
		return tea.Raw(seq)
	}
	return nil
}
