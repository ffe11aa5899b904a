package widget

import "landfall/ui/theme"

// Sparkline draws how amounts went, the newest last, in at most width cells. An unknown amount, below nought, is a blank.
func Sparkline(th theme.Theme, amounts []int64, width int) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	if th.Glyph.Rule == "-" {
		levels = []rune("_.-=+*%#")
	}
	if n := len(amounts); n > max(0, width) {
		amounts = amounts[n-max(0, width):]
	}
	var most int64 = 1
	for _, a := range amounts {
		most = max(most, a)
	}
	out := make([]rune, len(amounts))
	for i, a := range amounts {
		if out[i] = ' '; a >= 0 {
			out[i] = levels[int(float64(a)/float64(most)*float64(len(levels)-1))]
		}
	}
	return th.Active.Render(string(out))
}
