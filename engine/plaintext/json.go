package plaintext

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// JSON gives a JSON text that means the same and in which whatever Label would not draw as it is, is written as \uXXXX.
func JSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, acts) {
		return text
	}
	var b bytes.Buffer
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case !acts(r):
			b.Write(text[:n])
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[n:]
	}
	return b.Bytes()
}

// acts tells whether a character of a JSON text does more than to be seen. Control characters below a space are the
// text's own white space: within strings JSON writes them escaped already.
func acts(r rune) bool {
	return r >= 0x7f && (r == 0x7f || hidden(r) || unicode.In(r, unicode.Mn, unicode.Me))
}
