package widget

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"landfall/ui/keymap"
	"landfall/ui/theme"
)

// Pane is a text that can be scrolled.
type Pane struct {
	top, lines, seen int
}

// Reset goes back to the top.
func (p *Pane) Reset() { p.top = 0 }

// Press scrolls and tells whether the key was for that.
func (p *Pane) Press(msg tea.KeyPressMsg) bool {
	page := max(1, p.seen-1)
	switch {
	case keymap.Up.Hit(msg):
		p.top--
	case keymap.Down.Hit(msg):
		p.top++
	case keymap.PageUp.Hit(msg):
		p.top -= page
	case keymap.PageDown.Hit(msg):
		p.top += page
	case keymap.Top.Hit(msg):
		p.top = 0
	case keymap.Bottom.Hit(msg):
		p.top = p.lines
	default:
		return false
	}
	p.clamp()
	return true
}

func (p *Pane) clamp() { p.top = max(0, min(p.top, p.lines-p.seen)) }

// View draws the lines that are seen; the last says how much more there is.
func (p *Pane) View(th theme.Theme, lines []string, width, height int) string {
	p.lines, p.seen = len(lines), height
	p.clamp()
	rest := len(lines) - p.top - height
	shown := lines[min(p.top, len(lines)):min(len(lines), p.top+max(0, height))]
	if rest > 0 && height > 1 {
		shown = append(append([]string(nil), shown[:height-1]...), " "+th.Muted.Render(fmt.Sprintf("%s %d more lines", th.Glyph.Down, rest+1)))
	}
	return Block(shown, width, height, th.Glyph.More)
}
