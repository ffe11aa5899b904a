package widget

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"landfall/ui/keymap"
	"landfall/ui/theme"
)

// Column is one column of a table.
type Column struct {
	Title string
	// Min is the narrowest that it may be drawn, Want what it takes when there is room.
	Min, Want int
	Right     bool
	// Rank says which column goes first when there is no room: the highest. Nought always stays.
	Rank int
	// Flex takes what is left over.
	Flex bool
}

// Table is a list of rows with a cursor. Only the rows that are seen are asked for.
type Table struct {
	Columns []Column
	// Sort is the column that the rows are ordered by, -1 for an order of their own; Desc turns it round.
	Sort int
	Desc bool

	rows, cursor, top, seen int
}

// SetRows says how many rows there are; the cursor stays in range.
func (t *Table) SetRows(n int) {
	t.rows = n
	t.cursor = max(0, min(t.cursor, n-1))
}

// Rows is how many rows there are.
func (t *Table) Rows() int { return t.rows }

// Cursor is the row under the cursor, -1 when there is none.
func (t *Table) Cursor() int {
	if t.rows == 0 {
		return -1
	}
	return t.cursor
}

// SetCursor moves the cursor to a row.
func (t *Table) SetCursor(row int) { t.cursor = max(0, min(row, t.rows-1)) }

// Press moves the cursor and tells whether the key was for that.
func (t *Table) Press(msg tea.KeyPressMsg) bool {
	page := max(1, t.seen-1)
	switch {
	case keymap.Up.Hit(msg):
		t.SetCursor(t.cursor - 1)
	case keymap.Down.Hit(msg):
		t.SetCursor(t.cursor + 1)
	case keymap.PageUp.Hit(msg):
		t.SetCursor(t.cursor - page)
	case keymap.PageDown.Hit(msg):
		t.SetCursor(t.cursor + page)
	case keymap.Top.Hit(msg):
		t.SetCursor(0)
	case keymap.Bottom.Hit(msg):
		t.SetCursor(t.rows - 1)
	default:
		return false
	}
	return true
}

// NextSort orders by the next column, after the last by none again where the table has an order of its own.
func (t *Table) NextSort(own bool) {
	t.Sort++
	t.Desc = false
	if t.Sort >= len(t.Columns) {
		t.Sort = 0
		if own {
			t.Sort = -1
		}
	}
}

// gutter holds the cursor and the mark.
const gutter = 2

// View draws the header and the rows around the cursor. cell gives a cell's text, mark whether a row is marked.
func (t *Table) View(th theme.Theme, width, height int, cell func(row, col int) string, mark func(row int) bool) string {
	if height < 1 || width < 1 {
		return ""
	}
	widths := t.layout(width - gutter)
	t.seen = max(0, height-1)
	t.top = max(0, min(t.top, t.rows-t.seen))
	if t.cursor < t.top {
		t.top = t.cursor
	}
	if t.seen > 0 && t.cursor >= t.top+t.seen {
		t.top = t.cursor - t.seen + 1
	}
	lines := make([]string, 0, height)
	lines = append(lines, t.header(th, widths))
	for row := t.top; row < min(t.rows, t.top+t.seen); row++ {
		var b strings.Builder
		for col, w := range widths {
			if w == 0 {
				continue
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(t.align(th, col, cell(row, col), w))
		}
		sign := " "
		if mark != nil && mark(row) {
			sign = th.Glyph.Marked
		}
		line := b.String()
		if row == t.cursor {
			line = th.Cursor.Render(Fit(th.Glyph.Cursor+sign+ansi.Strip(line), width, ""))
		} else {
			line = " " + sign + line
		}
		lines = append(lines, line)
	}
	return Block(lines, width, height, "")
}

func (t *Table) align(th theme.Theme, col int, s string, w int) string {
	if t.Columns[col].Right {
		return Right(s, w, th.Glyph.More)
	}
	return Fit(s, w, th.Glyph.More)
}

func (t *Table) header(th theme.Theme, widths []int) string {
	var parts []string
	for col, w := range widths {
		if w == 0 {
			continue
		}
		title := t.Columns[col].Title
		if col == t.Sort {
			arrow := th.Glyph.Up
			if t.Desc {
				arrow = th.Glyph.Down
			}
			if ansi.StringWidth(title) >= w {
				title = Fit(title, w-1, "")
			}
			title += arrow
		}
		parts = append(parts, t.align(th, col, title, w))
	}
	return strings.Repeat(" ", gutter) + th.Header.Render(strings.Join(parts, " "))
}

// layout gives each column its width, nought for those that find no room.
func (t *Table) layout(width int) []int {
	widths := make([]int, len(t.Columns))
	left := width
	for rank := 0; rank <= len(t.Columns); rank++ {
		for i, c := range t.Columns {
			need := c.Min + 1
			if c.Rank != rank || (rank > 0 && need > left+1) {
				continue
			}
			widths[i] = c.Min
			left -= need
		}
	}
	left++ // no space before the first
	for rank := 0; rank <= len(t.Columns) && left > 0; rank++ {
		for i, c := range t.Columns {
			if more := min(c.Want-c.Min, left); c.Rank == rank && widths[i] > 0 && more > 0 {
				widths[i] += more
				left -= more
			}
		}
	}
	for i, c := range t.Columns {
		if c.Flex && left > 0 {
			widths[i] += left
			left = 0
		}
	}
	for i := range widths {
		widths[i] = min(widths[i], max(0, width))
	}
	return widths
}
