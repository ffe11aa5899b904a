// Package term decides what a terminal may be sent, and holds the few things that are said to it outside the screen:
// the clipboard, its progress bar, and what happens when it goes away. It knows nothing of migrations or pages.
package term

import (
	"strings"
)

// Lookup gives an environment variable, as os.LookupEnv does.
type Lookup func(key string) (string, bool)

// get is the variable or "".
func (l Lookup) get(key string) string {
	v, _ := l(key)
	return v
}

// Gate is what may be sent to the terminal.
type Gate struct {
	// Plain is the line mode, without any escape code. Why says what led to it.
	Plain bool
	Why   string
	// NoColor leaves bold and reverse, and takes the colours.
	NoColor bool
	// ASCII is for a locale that is not UTF-8: every other character is replaced.
	ASCII bool
	// Progress tells that the terminal is known to understand OSC 9;4; others show a notification for each report.
	Progress bool
	// Tmux wraps what tmux would keep to itself.
	Tmux bool
}

// Decide judges the terminal by its environment. inTTY and outTTY tell whether stdin and stdout are terminals; plain is
// the operator's own wish.
func Decide(env Lookup, inTTY, outTTY, plain bool) Gate {
	g := Gate{
		NoColor:  env.get("NO_COLOR") != "",
		ASCII:    !utf8Locale(env),
		Progress: knowsProgress(env),
		Tmux:     env.get("TMUX") != "",
	}
	name, ok := env("TERM")
	switch {
	case plain:
		g.Plain, g.Why = true, "asked for"
	case !outTTY:
		g.Plain, g.Why = true, "the output is not a terminal"
	case !inTTY:
		g.Plain, g.Why = true, "the input is not a terminal"
	case !ok || name == "" || name == "dumb":
		g.Plain, g.Why = true, "TERM is "+orNone(name)
	}
	return g
}

func orNone(s string) string {
	if s == "" {
		return "not set"
	}
	return s
}

// utf8Locale follows the order of precedence of the C library.
func utf8Locale(env Lookup) bool {
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env.get(key); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

func knowsProgress(env Lookup) bool {
	if env.get("TMUX") != "" {
		return false
	}
	name, program := env.get("TERM"), env.get("TERM_PROGRAM")
	return env.get("WT_SESSION") != "" || env.get("ConEmuANSI") == "ON" ||
		strings.Contains(name, "ghostty") || program == "ghostty" || program == "WezTerm"
}
