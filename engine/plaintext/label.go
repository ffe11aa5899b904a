// Package plaintext makes text from outside (names, notes, errors, a guest's words) harmless and visible before it is
// drawn, logged or written to a report: nothing in its output can move a cursor, start a control sequence, turn the
// direction of reading or hide. It must not know who draws, nor any other package of the product.
package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxLabel bounds a label in runes: what is longer is no name.
	maxLabel = 1024
	// maxMarks is how many combining marks one character may carry; no script needs more.
	maxMarks = 4
)

// Label gives s as one line. Control characters are shown as \n, \t or \x1b, characters that hide or reorder as ⟨U+202E⟩,
// bytes that are no UTF-8 as \xff. It is idempotent and gives at most 1024 runes.
func Label(s string) string {
	if plain(s) {
		return s
	}
	return bound(clean(s, false))
}

// Text is Label for text of several lines: newlines stay, a tab becomes four spaces, and CR before a newline is dropped.
// It does not bound the length.
func Text(s string) string {
	return clean(s, true)
}

// plain is the fast path: short printable ASCII is what nearly all names are.
func plain(s string) bool {
	if len(s) > maxLabel {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func clean(s string, lines bool) string {
	var b strings.Builder
	b.Grow(len(s) + 8)
	marks, over := 0, 0
	base := false // whether something stands there that a mark may sit on
	flush := func() {
		if over > 0 {
			fmt.Fprintf(&b, "⟨+%d marks⟩", over)
		}
		marks, over = 0, 0
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if base && isMark(r) && n > 1 {
			i += n
			if marks++; marks > maxMarks {
				over++
				continue
			}
			b.WriteRune(r)
			continue
		}
		flush()
		base = true
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case lines && r == '\n':
			b.WriteByte('\n')
			base = false
		case lines && r == '\r' && i+1 < len(s) && s[i+1] == '\n':
			base = false
		case lines && r == '\t':
			b.WriteString("    ")
		default:
			b.WriteString(shown(r))
		}
		i += n
	}
	flush()
	return b.String()
}

// shown gives one character as it may be drawn.
func shown(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < 0x20 || r == 0x7f:
		return fmt.Sprintf(`\x%02x`, r)
	case hidden(r):
		return fmt.Sprintf("⟨U+%04X⟩", r)
	}
	return string(r)
}

// hidden tells whether a character is invisible, reorders others, or has a width that terminals do not agree on.
func hidden(r rune) bool {
	switch {
	case r < 0x7f:
		return false
	case !unicode.IsPrint(r): // C1, format characters, exotic spaces, private use, unassigned
		return true
	case unicode.In(r, unicode.Mn, unicode.Me): // selectors, and marks without anything to sit on
		return true
	case r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0: // fillers: letters that show nothing
		return true
	case r == 0x2800: // the empty braille pattern
		return true
	case r >= 0x1f1e6 && r <= 0x1f1ff, r >= 0x1f3fb && r <= 0x1f3ff: // halves of flags, skin tones
		return true
	}
	return false
}

// isMark tells whether a character is drawn onto the one before it. Variation selectors change the width of what they
// follow and are shown instead.
func isMark(r rune) bool {
	if r < 0x300 || (r >= 0xfe00 && r <= 0xfe0f) || (r >= 0xe0100 && r <= 0xe01ef) || r == 0x34f || r == 0x20e3 || (r >= 0x180b && r <= 0x180f) {
		return false
	}
	return unicode.In(r, unicode.Mn, unicode.Me)
}

// bound cuts s after maxLabel runes.
func bound(s string) string {
	if len(s) <= maxLabel || utf8.RuneCountInString(s) <= maxLabel {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == maxLabel {
			return s[:i] + "…"
		}
	}
	return s
}
