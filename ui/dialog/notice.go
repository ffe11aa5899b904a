package dialog

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine/plaintext"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

// Notice tells something that must be seen, such as an error with what to try.
type Notice struct {
	title string
	text  string
}

// NewNotice tells text.
func NewNotice(title, text string) *Notice {
	return &Notice{title: title, text: plaintext.Text(text)}
}

// Title of the frame.
func (n *Notice) Title() string { return n.title }

// Set needs nothing of a snapshot.
func (n *Notice) Set(*feed.Snapshot, time.Time) pages.Action { return nil }

// Update closes it.
func (n *Notice) Update(msg tea.Msg, _ time.Time) (pages.Action, bool) {
	k, ok := msg.(tea.KeyPressMsg)
	return nil, ok && (keymap.Back.Hit(k) || keymap.Accept.Hit(k))
}

// Lines draws it.
func (n *Notice) Lines(th theme.Theme, width, height int) []string {
	s := widget.Limit(widget.Fold(n.text, width), height-2, th.Glyph.More)
	return append(s, "", buttons(th, []string{"Back"}, 0))
}
