// Package theme names the colours and glyphs by what they mean. Colours are of the terminal's own sixteen; each state has
// a glyph and a word beside its colour. It knows nothing of what is drawn.
package theme

import (
	"charm.land/lipgloss/v2"
)

// Theme is the look of the whole console.
type Theme struct {
	Plain, Bold, Muted    lipgloss.Style
	Title, Header, Cursor lipgloss.Style
	Good, Warn, Bad, Info lipgloss.Style
	Active                lipgloss.Style // what works right now
	Key                   lipgloss.Style // a key in a hint
	Border                lipgloss.Style
	Button, Chosen        lipgloss.Style
	Glyph                 Glyphs
	Box                   lipgloss.Border
}

// Glyphs are the signs that stand beside the words.
type Glyphs struct {
	Done, Current, Todo, Rest, Bad, Warn, Ask string
	Up, Down                                  string
	Cursor, Marked                            string
	Full, Half, Empty                         string // of a bar
	Arrow, Dot, More, Rule                    string
	First                                     string // after a verdict of the first view alone
}

var unicodeGlyphs = Glyphs{
	Done: "✓", Current: "▶", Todo: "·", Rest: "◌", Bad: "✗", Warn: "!", Ask: "?",
	Up: "↑", Down: "↓", Cursor: "›", Marked: "•",
	Full: "█", Half: "▌", Empty: "░", Arrow: "→", Dot: "·", More: "…", Rule: "─", First: "~",
}

var asciiGlyphs = Glyphs{
	Done: "+", Current: ">", Todo: ".", Rest: "~", Bad: "x", Warn: "!", Ask: "?",
	Up: "^", Down: "v", Cursor: ">", Marked: "*",
	Full: "#", Half: "#", Empty: "-", Arrow: "->", Dot: "-", More: "~", Rule: "-", First: "*",
}

// New gives the look for a dark or light background, with or without characters beyond ASCII.
func New(dark, ascii bool) Theme {
	pick := lipgloss.LightDark(dark)
	on := func(light, dark string) lipgloss.Style {
		return lipgloss.NewStyle().Foreground(pick(lipgloss.Color(light), lipgloss.Color(dark)))
	}
	t := Theme{
		Plain:  lipgloss.NewStyle(),
		Bold:   lipgloss.NewStyle().Bold(true),
		Muted:  lipgloss.NewStyle().Faint(true),
		Title:  on("4", "14").Bold(true),
		Header: lipgloss.NewStyle().Bold(true).Faint(true),
		Cursor: lipgloss.NewStyle().Reverse(true),
		Good:   on("2", "10"),
		Warn:   on("3", "11"),
		Bad:    on("1", "9").Bold(true),
		Info:   on("4", "12"),
		Active: on("6", "14"),
		Key:    on("5", "13").Bold(true),
		Border: lipgloss.NewStyle().Faint(true),
		Button: lipgloss.NewStyle(),
		Chosen: lipgloss.NewStyle().Reverse(true).Bold(true),
		Glyph:  unicodeGlyphs,
		Box:    lipgloss.RoundedBorder(),
	}
	if ascii {
		t.Glyph, t.Box = asciiGlyphs, lipgloss.ASCIIBorder()
	}
	return t
}

// Default is used until the terminal has told its background.
func Default(ascii bool) Theme { return New(true, ascii) }
