// Package widget draws the pieces that pages are made of: tables, bars, steppers, logs, fields. A widget is a plain
// struct; it is given its size and gives a string of exactly that many lines, none wider. It knows nothing of migrations'
// storage and never does any I/O. What it is given from outside must be a label already.
package widget

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Fit gives s in exactly width cells, cut with the tail or filled with spaces.
func Fit(s string, width int, tail string) string {
	if width <= 0 {
		return ""
	}
	w := ansi.StringWidth(s)
	if w > width {
		s = ansi.Truncate(s, width, tail)
		w = ansi.StringWidth(s)
	}
	return s + strings.Repeat(" ", max(0, width-w))
}

// Right is Fit with the text at the right.
func Right(s string, width int, tail string) string {
	if w := ansi.StringWidth(s); w < width {
		return strings.Repeat(" ", width-w) + s
	}
	return Fit(s, width, tail)
}

// Block gives lines in exactly width × height cells.
func Block(lines []string, width, height int, tail string) string {
	out := make([]string, max(0, height))
	for i := range out {
		s := ""
		if i < len(lines) {
			s = lines[i]
		}
		out[i] = Fit(s, width, tail)
	}
	return strings.Join(out, "\n")
}

// Fold breaks s at words into lines of at most width cells.
func Fold(s string, width int) []string {
	if width < 1 {
		return nil
	}
	return strings.Split(ansi.Wrap(s, width, " /"), "\n")
}

// Limit keeps at most n lines and marks a cut.
func Limit(lines []string, n int, tail string) []string {
	if len(lines) <= n {
		return lines
	}
	if n <= 0 {
		return nil
	}
	out := append([]string(nil), lines[:n]...)
	out[n-1] = strings.TrimRight(out[n-1], " ") + tail
	return out
}
