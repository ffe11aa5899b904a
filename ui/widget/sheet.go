package widget

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"landfall/ui/theme"
)

// Sheet gathers the lines of a text with labels, folded to a width.
type Sheet struct {
	Theme theme.Theme
	Width int
	// Label is how wide the labels are.
	Label int
	Lines []string
}

// Head adds a heading, with a blank line before it where something stands above.
func (s *Sheet) Head(text string) {
	if len(s.Lines) > 0 {
		s.Blank()
	}
	s.Lines = append(s.Lines, s.Theme.Title.Render(text))
}

// Blank adds an empty line.
func (s *Sheet) Blank() { s.Lines = append(s.Lines, "") }

// Say adds a text, folded; following lines are indented by in.
func (s *Sheet) Say(text string, in int) {
	for i, l := range Fold(text, max(1, s.Width-in)) {
		if i > 0 {
			l = strings.Repeat(" ", in) + l
		}
		s.Lines = append(s.Lines, l)
	}
}

// Row adds a label with its text, folded beside it. An empty text adds nothing.
func (s *Sheet) Row(label, text string) {
	if text == "" {
		return
	}
	w := max(s.Label, ansi.StringWidth(label))
	for i, l := range Fold(text, max(8, s.Width-w-1)) {
		head := ""
		if i == 0 {
			head = label
		}
		s.Lines = append(s.Lines, s.Theme.Muted.Render(Fit(head, w, ""))+" "+l)
	}
}

// Line adds a line as it is; what is too wide will be cut.
func (s *Sheet) Line(text string) { s.Lines = append(s.Lines, text) }
