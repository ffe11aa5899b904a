package widget

import (
	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"landfall/engine/plaintext"
)

// Field is one line of text that a person types. Its cursor does not blink, so that a screen at rest sends nothing.
type Field struct{ in textinput.Model }

// NewField gives an empty field.
func NewField(prompt string) Field {
	in := textinput.New()
	in.Prompt = prompt
	in.CharLimit = 256
	in.KeyMap.Paste = key.NewBinding() // a terminal pastes by itself; no helper program is run
	st := in.Styles()
	st.Cursor.Blink = false
	in.SetStyles(st)
	return Field{in: in}
}

// Focus makes keys text.
func (f *Field) Focus() { _ = f.in.Focus() }

// Blur ends that.
func (f *Field) Blur() { f.in.Blur() }

// Focused tells whether keys are text.
func (f *Field) Focused() bool { return f.in.Focused() }

// Value is what was typed.
func (f *Field) Value() string { return f.in.Value() }

// Set replaces what was typed.
func (f *Field) Set(s string) { f.in.SetValue(plaintext.Label(s)) }

// Update takes keys, and pastes as labels.
func (f *Field) Update(msg tea.Msg) {
	switch m := msg.(type) {
	case tea.PasteMsg:
		msg = tea.PasteMsg{Content: plaintext.Label(m.Content)}
	case tea.KeyPressMsg:
		if m.Text != "" && plaintext.Label(m.Text) != m.Text {
			return
		}
	}
	f.in, _ = f.in.Update(msg)
}

// View draws it.
func (f *Field) View() string { return f.in.View() }
