package widget

import (
	"strings"

	"landfall/ui/theme"
)

// Bar draws done of total in width cells. A total of nought gives blanks. It is full only when all is done.
func Bar(th theme.Theme, done, total int64, width int) string {
	if total <= 0 || width < 1 {
		return strings.Repeat(" ", max(0, width))
	}
	halves := int(min(max(float64(done)/float64(total), 0), 1) * float64(2*width))
	full := halves / 2
	s := strings.Repeat(th.Glyph.Full, full)
	if halves%2 == 1 {
		s += th.Glyph.Half
		full++
	}
	return th.Active.Render(s) + th.Muted.Render(strings.Repeat(th.Glyph.Empty, width-full))
}

// Percent is done of total in whole percent, 100 only when all is done, or -1 when there is nothing to count.
func Percent(done, total int64) int {
	if total <= 0 {
		return -1
	}
	return int(min(max(float64(done)/float64(total), 0), 1) * 100)
}
