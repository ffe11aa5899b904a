package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// ASCII replaces what a terminal without UTF-8 would misread: the bytes of one character can be a control code there.
// Widths stay as they are; escape codes, which are ASCII, pass.
func ASCII(s string) string {
	i := 0
	for i < len(s) && s[i] < 0x80 {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:i])
	for _, r := range s[i:] {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r == '⟨':
			b.WriteByte('<')
		case r == '⟩':
			b.WriteByte('>')
		case r == '…':
			b.WriteByte('~')
		case r == '·', r == '—', r == '–':
			b.WriteByte('-')
		default:
			b.WriteString(strings.Repeat("?", ansi.StringWidth(string(r))))
		}
	}
	return b.String()
}
