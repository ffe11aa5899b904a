package dialog

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

// Danger asks before what cannot be undone. It starts on Cancel; the act needs the VM's name typed.
type Danger struct {
	title  string
	target string // what it is done to
	effect string // what happens then, and to whom
	verb   string
	word   string // what must be typed
	why    string // what the word is
	act    pages.Action
	asked  *asked // the decision that this answers, or nil

	guard
	typed  widget.Field
	at     int // 0 is Cancel
	remark string
}

// NewDanger asks whether act shall be done to the VM of a line. verb names the act on its button, effect says in full what
// happens then and to whom.
func NewDanger(title, verb, effect string, l engine.Line, act pages.Action, now time.Time) *Danger {
	word, why := Typeable(l)
	d := &Danger{title: title, verb: verb, effect: plaintext.Label(effect), word: word, why: why, act: act,
		target: "VM " + plaintext.Label(l.VM) + " (" + plaintext.Label(l.Ref.String()) + ") of " + plaintext.Label(l.Source),
		typed:  widget.NewField("> "), guard: guard{opened: now}}
	d.typed.Focus()
	return d
}

// Typeable gives the word that a person types: the name where every keyboard has it, else an identity.
func Typeable(l engine.Line) (word, why string) {
	for _, c := range []struct{ word, why string }{
		{l.VM, "the VM's name"},
		{l.Ref.MoRef, "the VM's id, since its name is hard to type"},
	} {
		if simple(c.word) {
			return c.word, c.why
		}
	}
	return l.UID, "the migration's id, since the VM's name is hard to type"
}

func simple(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != "" && len(s) <= 60 && s[0] != ' ' && s[len(s)-1] != ' '
}

// Title of the frame.
func (d *Danger) Title() string { return d.title }

// Set follows the decision that the act answers.
func (d *Danger) Set(s *feed.Snapshot, now time.Time) pages.Action {
	if d.asked == nil {
		return nil
	}
	act, changed := d.asked.follow(s)
	if changed {
		d.at, d.opened, d.remark = 0, now, "the question changed: go back and read it again"
		d.asked.gone = d.remark
	}
	return act
}

// Update takes a key.
func (d *Danger) Update(msg tea.Msg, now time.Time) (pages.Action, bool) {
	switch m := msg.(type) {
	case Taken:
		if d.asked != nil {
			d.asked.taken(m, now)
		}
	case tea.PasteMsg:
		d.remark = "what is pasted does not count: type it"
	case tea.KeyPressMsg:
		pasted := d.pressed(now)
		if d.deafTo(now) {
			return nil, false
		}
		return d.press(m, pasted)
	}
	return nil, false
}

func (d *Danger) press(k tea.KeyPressMsg, pasted bool) (pages.Action, bool) {
	gone := d.asked != nil && d.asked.gone != ""
	switch {
	case keymap.Back.Hit(k):
		return nil, true
	case keymap.Accept.Hit(k):
		switch {
		case pasted:
			return nil, false
		case d.at == 0 || gone:
			return nil, true
		case d.typed.Value() != d.word:
			d.remark = "what is typed is not the name"
			return nil, false
		}
		return d.act, true
	case keymap.NextChoice.Hit(k), keymap.PrevChoice.Hit(k):
		if !gone && !pasted {
			d.at = 1 - d.at
		}
	default:
		if !gone {
			d.remark = ""
			d.typed.Update(k)
		}
	}
	return nil, false
}

// Lines draws it.
func (d *Danger) Lines(th theme.Theme, width, height int) []string {
	s := &widget.Sheet{Theme: th, Width: width}
	s.Say(th.Bold.Render(d.target), 0)
	foot := &widget.Sheet{Theme: th, Width: width}
	if d.asked != nil && d.asked.gone != "" {
		foot.Say(th.Warn.Render(th.Glyph.Warn+" "+d.asked.gone), 2)
		foot.Blank()
		foot.Line(buttons(th, []string{"Back"}, 0))
	} else {
		foot.Say("Type "+th.Bold.Render(d.word)+" to confirm"+th.Muted.Render(" ("+d.why+")"), 0)
		foot.Line(d.typed.View())
		foot.Line(th.Warn.Render(d.remark))
		foot.Line(buttons(th, []string{"Cancel", d.verb}, d.at))
	}
	s.Blank()
	s.Say(th.Bad.Render(th.Glyph.Warn+" ")+d.effect, 2)
	s.Blank()
	return append(widget.Limit(s.Lines, height-len(foot.Lines), th.Glyph.More), foot.Lines...)
}
