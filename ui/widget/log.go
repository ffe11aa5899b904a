package widget

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"landfall/ui/keymap"
	"landfall/ui/theme"
)

// Log shows lines that are only ever added to: it follows the newest, wraps, and is searched.
type Log struct {
	Follow bool
	Wrap   bool

	field   Field
	find    string
	top     int
	seen    int
	rows    []string // as drawn
	drawn   layout   // what rows were made for
	matches []int    // rows
}

// layout is what the rows of a log depend on.
type layout struct {
	lines, width int
	wrap         bool
	last         string
}

// NewLog gives a log that follows.
func NewLog() Log { return Log{Follow: true, field: NewField("/")} }

// Typing tells whether keys are text.
func (l *Log) Typing() bool { return l.field.Focused() }

// Back ends the search and tells whether there was one.
func (l *Log) Back() bool {
	if !l.field.Focused() && l.find == "" {
		return false
	}
	l.field.Set("")
	l.field.Blur()
	l.find, l.matches = "", nil
	return true
}

// Update takes keys and pastes and tells whether they were for it.
func (l *Log) Update(msg tea.Msg) bool {
	if l.field.Focused() {
		if k, ok := msg.(tea.KeyPressMsg); ok && keymap.Accept.Hit(k) {
			l.field.Blur()
			l.jump(1)
			return true
		}
		l.field.Update(msg)
		l.find = strings.ToLower(l.field.Value())
		l.mark()
		return true
	}
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return false
	}
	page := max(1, l.seen-1)
	switch {
	case keymap.Search.Hit(k):
		l.field.Focus()
		return true
	case keymap.Next.Hit(k):
		l.jump(1)
		return true
	case keymap.Previous.Hit(k):
		l.jump(-1)
		return true
	case keymap.Follow.Hit(k):
		l.Follow = !l.Follow
		return true
	case keymap.Wrap.Hit(k):
		l.Wrap = !l.Wrap
		return true
	case keymap.Up.Hit(k):
		l.top--
	case keymap.Down.Hit(k):
		l.top++
	case keymap.PageUp.Hit(k):
		l.top -= page
	case keymap.PageDown.Hit(k):
		l.top += page
	case keymap.Top.Hit(k):
		l.top = 0
	case keymap.Bottom.Hit(k):
		l.top, l.Follow = len(l.rows), true
		return true
	default:
		return false
	}
	l.Follow = false
	l.clamp()
	return true
}

func (l *Log) clamp() { l.top = max(0, min(l.top, len(l.rows)-l.seen)) }

// jump goes to the match after or before the top row.
func (l *Log) jump(by int) {
	if len(l.matches) == 0 {
		return
	}
	l.Follow = false
	to := l.matches[0]
	if by < 0 {
		to = l.matches[len(l.matches)-1]
		for i := len(l.matches) - 1; i >= 0; i-- {
			if l.matches[i] < l.top {
				to = l.matches[i]
				break
			}
		}
	} else {
		for _, m := range l.matches {
			if m > l.top {
				to = m
				break
			}
		}
	}
	l.top = to
	l.clamp()
}

func (l *Log) mark() {
	l.matches = nil
	if l.find == "" {
		return
	}
	for i, r := range l.rows {
		if strings.Contains(strings.ToLower(ansi.Strip(r)), l.find) {
			l.matches = append(l.matches, i)
		}
	}
}

func (l *Log) lay(lines []string, width int) {
	key := layout{lines: len(lines), width: width, wrap: l.Wrap}
	if len(lines) > 0 {
		key.last = lines[len(lines)-1]
	}
	if key == l.drawn {
		return
	}
	l.drawn = key
	l.rows = l.rows[:0]
	for _, s := range lines {
		if l.Wrap {
			l.rows = append(l.rows, strings.Split(ansi.Wrap(s, max(1, width), " "), "\n")...)
		} else {
			l.rows = append(l.rows, s)
		}
	}
	l.mark()
}

// View draws the log with a line of its state at the bottom.
func (l *Log) View(th theme.Theme, lines []string, width, height int) string {
	if height < 1 {
		return ""
	}
	l.lay(lines, width-1)
	l.seen = max(0, height-1)
	if l.Follow {
		l.top = len(l.rows)
	}
	l.clamp()
	out := make([]string, 0, height)
	for i := l.top; i < min(len(l.rows), l.top+l.seen); i++ {
		row := l.rows[i]
		if l.find != "" && strings.Contains(strings.ToLower(ansi.Strip(row)), l.find) {
			row = th.Cursor.Render(ansi.Strip(row))
		}
		out = append(out, " "+row)
	}
	for len(out) < l.seen {
		out = append(out, "")
	}
	return Block(append(out, " "+l.state(th)), width, height, th.Glyph.More)
}

func (l *Log) state(th theme.Theme) string {
	if l.field.Focused() {
		return l.field.View()
	}
	var s []string
	if l.Follow {
		s = append(s, "following")
	} else {
		s = append(s, fmt.Sprintf("line %d of %d", min(len(l.rows), l.top+1), len(l.rows)))
	}
	if l.Wrap {
		s = append(s, "wrapped")
	}
	if l.find != "" {
		s = append(s, Count(len(l.matches), "match", "matches")+" of "+l.field.Value())
	}
	return th.Muted.Render(strings.Join(s, " "+th.Glyph.Dot+" "))
}
