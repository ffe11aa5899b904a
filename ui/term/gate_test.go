package term

import (
	"strings"
	"testing"
)

func env(pairs ...string) Lookup {
	return func(key string) (string, bool) {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == key {
				return v, true
			}
		}
		return "", false
	}
}

func TestDecide(t *testing.T) {
	utf := "LANG=C.UTF-8"
	for name, c := range map[string]struct {
		env     Lookup
		in, out bool
		plain   bool
		want    Gate
	}{
		"a good terminal":             {env("TERM=xterm", utf), true, true, false, Gate{}},
		"piped output":                {env("TERM=xterm", utf), true, false, false, Gate{Plain: true, Why: "the output is not a terminal"}},
		"piped input":                 {env("TERM=xterm", utf), false, true, false, Gate{Plain: true, Why: "the input is not a terminal"}},
		"dumb":                        {env("TERM=dumb", utf), true, true, false, Gate{Plain: true, Why: "TERM is dumb"}},
		"no TERM":                     {env(utf), true, true, false, Gate{Plain: true, Why: "TERM is not set"}},
		"wished":                      {env("TERM=xterm", utf), true, true, true, Gate{Plain: true, Why: "asked for"}},
		"NO_COLOR with any word":      {env("TERM=xterm", utf, "NO_COLOR=yes"), true, true, false, Gate{NoColor: true}},
		"NO_COLOR empty is not set":   {env("TERM=xterm", utf, "NO_COLOR="), true, true, false, Gate{}},
		"Latin-1":                     {env("TERM=xterm", "LANG=de_DE.ISO-8859-1"), true, true, false, Gate{ASCII: true}},
		"no locale":                   {env("TERM=xterm"), true, true, false, Gate{ASCII: true}},
		"LC_ALL beats LANG":           {env("TERM=xterm", utf, "LC_ALL=C"), true, true, false, Gate{ASCII: true}},
		"an empty LC_ALL does not":    {env("TERM=xterm", utf, "LC_ALL="), true, true, false, Gate{}},
		"utf8 without the dash":       {env("TERM=xterm", "LC_CTYPE=en_US.utf8"), true, true, false, Gate{}},
		"known to show progress":      {env("TERM=xterm-ghostty", utf), true, true, false, Gate{Progress: true}},
		"tmux hides the terminal":     {env("TERM=screen", utf, "TMUX=/tmp/x", "WT_SESSION=1"), true, true, false, Gate{Tmux: true}},
		"an unknown one could notify": {env("TERM=xterm", utf, "TERM_PROGRAM=iTerm.app"), true, true, false, Gate{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Decide(c.env, c.in, c.out, c.plain); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestASCII(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":            {"web", "web"},
		"codes pass":       {"\x1b[1mweb\x1b[0m", "\x1b[1mweb\x1b[0m"},
		"a hidden CSI":     {"Û2J", "?2J"}, // its second byte is 0x9b
		"wide stays wide":  {"東|", "??|"},
		"own escapes read": {"a⟨U+202E⟩…", "a<U+202E>~"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ASCII(c.in); got != c.want {
				t.Errorf("ASCII(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestClipboard(t *testing.T) {
	if got := (Gate{}).Clipboard("a"); got != "\x1b]52;c;YQ==\x07" {
		t.Errorf("got %q", got)
	}
	if got := (Gate{Tmux: true}).Clipboard("a"); !strings.Contains(got, "\x1bPtmux;") {
		t.Errorf("not passed through tmux: %q", got)
	}
	if got := (Gate{}).Clipboard(strings.Repeat("a", maxClip+1)); got != "" {
		t.Error("a text that terminals would cut is sent")
	}
}
