package widget

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"landfall/ui/keymap"
	"landfall/ui/theme"
)

// Hints draws as many keys with what they do as have room, in order.
func Hints(th theme.Theme, bindings []keymap.Binding, width int) string {
	var b strings.Builder
	used := 0
	for _, k := range bindings {
		h := k.Help()
		first, _, _ := strings.Cut(h.Key, "/")
		if first == "" { // the key is / itself
			first = h.Key
		}
		w := ansi.StringWidth(first) + 1 + ansi.StringWidth(h.Desc)
		if used > 0 {
			w += 2
		}
		if used+w > width {
			continue
		}
		if used > 0 {
			b.WriteString("  ")
		}
		b.WriteString(th.Key.Render(first) + " " + th.Muted.Render(h.Desc))
		used += w
	}
	return b.String()
}

// Tabs draws names with the chosen one marked, moved so that it is seen.
func Tabs(th theme.Theme, names []string, chosen, width int) string {
	from := 0
	for {
		var b strings.Builder
		used, fits := 0, from >= chosen
		if from > 0 {
			b.WriteString(th.Muted.Render(th.Glyph.More))
			used = ansi.StringWidth(th.Glyph.More)
		}
		for i := from; i < len(names); i++ {
			s := " " + names[i] + " "
			if used += ansi.StringWidth(s); used > width && i > from {
				break
			}
			if i == chosen {
				s, fits = th.Chosen.Render(s), true
			}
			b.WriteString(s)
		}
		if fits {
			return Fit(b.String(), width, th.Glyph.More)
		}
		from++
	}
}
