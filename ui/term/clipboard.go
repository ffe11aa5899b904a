package term

import "github.com/charmbracelet/x/ansi"

// maxClip is the longest text that common terminals take by OSC 52.
const maxClip = 74994

// Clipboard gives the sequence that puts s into the clipboard of the terminal that the operator sits at. In tmux it is
// sent both ways: to tmux itself, and through it.
func (g Gate) Clipboard(s string) string {
	if len(s) > maxClip {
		return ""
	}
	seq := ansi.SetSystemClipboard(s)
	if g.Tmux {
		return seq + ansi.TmuxPassthrough(seq)
	}
	return seq
}
