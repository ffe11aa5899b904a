package plaintext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLabel(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":                    {"web-01", "web-01"},
		"umlauts and kanji stay":   {"Köln 東京", "Köln 東京"},
		"escape sequence":          {"a\x1b[31mred", `a\x1b[31mred`},
		"window title":             {"\x1b]0;owned\x07", `\x1b]0;owned\x07`},
		"hyperlink":                {"\x1b]8;;http://x\x1b\\y", `\x1b]8;;http://x\x1b\y`},
		"device control":           {"\x1bP1$tx\x1b\\", `\x1bP1$tx\x1b\`},
		"one-byte CSI":             {"a\x9b2J", `a\x9b2J`},
		"CSI as a character":       {"a\u009b2J", `a⟨U+009B⟩2J`},
		"carriage return":          {"good\rbad", `good\rbad`},
		"backspace":                {"x\b\by", `x\x08\x08y`},
		"newline and tab":          {"a\nb\tc", `a\nb\tc`},
		"nul and delete":           {"a\x00\x7f", `a\x00\x7f`},
		"right-to-left override":   {"a\u202egpj.exe", "a⟨U+202E⟩gpj.exe"},
		"isolates":                 {"\u2066a\u2069", "⟨U+2066⟩a⟨U+2069⟩"},
		"zero width space":         {"we\u200bb", "we⟨U+200B⟩b"},
		"joiner and byte mark":     {"\ufeffa\u200db", "⟨U+FEFF⟩a⟨U+200D⟩b"},
		"no-break space":           {"a\u00a0b", "a⟨U+00A0⟩b"},
		"line separator":           {"a\u2028b", "a⟨U+2028⟩b"},
		"filler":                   {"\u3164", "⟨U+3164⟩"},
		"tag characters":           {"a\U000e0041", "a⟨U+E0041⟩"},
		"variation selector":       {"\u2764\ufe0f", "\u2764⟨U+FE0F⟩"},
		"half a flag":              {"\U0001f1e9\U0001f1ea", "⟨U+1F1E9⟩⟨U+1F1EA⟩"},
		"broken UTF-8":             {"a\xffb\xe2\x82", `a\xffb\xe2\x82`},
		"surrogate":                {"\xed\xa0\x80", `\xed\xa0\x80`},
		"the replacement itself":   {"a\ufffdb", "a\ufffdb"},
		"accent on a letter":       {"e\u0301", "e\u0301"},
		"accent on nothing":        {"\u0301a", "⟨U+0301⟩a"},
		"a flood of marks":         {"e" + strings.Repeat("\u0301", 500) + "x", "e" + strings.Repeat("\u0301", 4) + "⟨+496 marks⟩x"},
		"marks broken by a format": {"e\u0301\u200b\u0301", "e\u0301⟨U+200B⟩\u0301"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Label(c.in); got != c.want {
				t.Errorf("Label(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestLabelIsBounded(t *testing.T) {
	for name, in := range map[string]string{
		"ASCII":   strings.Repeat("a", 1<<20),
		"escapes": strings.Repeat("\x1b", 1<<20),
		"wide":    strings.Repeat("東", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			got := Label(in)
			if n := utf8.RuneCountInString(got); n != maxLabel {
				t.Errorf("%d runes, want %d", n, maxLabel)
			}
			if !strings.HasSuffix(got, "…") {
				t.Error("the cut is not shown")
			}
		})
	}
}

func TestText(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"lines stay":            {"a\nb", "a\nb"},
		"network line ends":     {"a\r\nb\r\n", "a\nb\n"},
		"a lone return":         {"good\rbad", `good\rbad`},
		"tab":                   {"a\tb", "a    b"},
		"escape":                {"a\n\x1b[2Jb", "a\n" + `\x1b[2Jb`},
		"mark after a new line": {"a\n\u0301", "a\n⟨U+0301⟩"},
		"mark after line ends":  {"a\r\n\u0301", "a\n⟨U+0301⟩"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Text(c.in); got != c.want {
				t.Errorf("Text(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

// FuzzLabel holds whatever comes in to what the package promises.
func FuzzLabel(f *testing.F) {
	for _, s := range []string{"", "web", "\x1b[31m", "\u202e", "e\u0301\u0301\u0301\u0301\u0301", "\xff\xfe", "a\r\nb", "\u009b", "⟨+3 marks⟩\u0301", strings.Repeat("\u200b", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		label, text := Label(s), Text(s)
		if Label(label) != label {
			t.Errorf("Label is not idempotent on %q: %q, then %q", s, label, Label(label))
		}
		if Text(text) != text {
			t.Errorf("Text is not idempotent on %q: %q, then %q", s, text, Text(text))
		}
		if utf8.RuneCountInString(label) > maxLabel {
			t.Errorf("label of %d runes", utf8.RuneCountInString(label))
		}
		harmless(t, label)
		for line := range strings.SplitSeq(text, "\n") {
			harmless(t, line)
		}
	})
}

// harmless does not use the code that it judges: it lists what a terminal could act on.
func harmless(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("not UTF-8: %q", s)
	}
	for _, r := range s {
		switch {
		case r < 0x20, r >= 0x7f && r <= 0x9f, r == 0xad, r == 0x61c,
			r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
			r == 0xfeff, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff, r >= 0xfff9 && r <= 0xfffb:
			t.Errorf("U+%04X got through in %q", r, s)
		}
	}
}
