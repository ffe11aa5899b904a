package inventory

import (
	"slices"
	"strings"
	"unicode/utf8"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/plaintext"
	"landfall/engine/preflight"
)

// filter is what was typed after /: words that all must hold. A bare word is found in the name by its letters in
// order, or in the folder; key:value asks for a property; ! turns a word round.
type filter struct {
	words []word
}

type word struct {
	key, value string
	not        bool
}

// keys that a word may ask for, and how.
var properties = map[string]func(p *Page, i int, value string) bool{
	"power":     func(p *Page, i int, v string) bool { return prefix(string(p.vm(i).VM.Power), v) },
	"tools":     func(p *Page, i int, v string) bool { return holds(string(p.vm(i).VM.Tools), v) },
	"guest":     func(p *Page, i int, v string) bool { return holds(p.vm(i).VM.Guest+" "+p.vm(i).VM.GuestID, v) },
	"folder":    func(p *Page, i int, v string) bool { return holds(p.vm(i).VM.Folder, v) },
	"host":      func(p *Page, i int, v string) bool { return holds(p.vm(i).VM.Host, v) },
	"source":    func(p *Page, i int, v string) bool { return holds(p.vm(i).Endpoint, v) },
	"ds":        datastore,
	"net":       network,
	"snap":      func(p *Page, i int, v string) bool { return yes(p.vm(i).VM.Snapshots, v) },
	"verdict":   isVerdict,
	"migration": func(p *Page, i int, v string) bool { return holds(migrationWord(p, i), v) },
}

func parse(s string) filter {
	var f filter
	for _, t := range strings.Fields(strings.ToLower(s)) {
		w := word{value: t}
		if rest, ok := strings.CutPrefix(t, "!"); ok {
			w.not, w.value = true, rest
		}
		if key, value, ok := strings.Cut(w.value, ":"); ok && properties[key] != nil {
			w.key, w.value = key, value
		}
		if w.value != "" {
			f.words = append(f.words, w)
		}
	}
	return f
}

func (f filter) has(key string) bool {
	return slices.ContainsFunc(f.words, func(w word) bool { return w.key == key })
}

// verdicts and migrations tell what the filter depends on besides the VMs themselves.
func (f filter) verdicts() bool   { return f.has("verdict") }
func (f filter) migrations() bool { return f.has("migration") }

func (f filter) takes(p *Page, i int) bool {
	for _, w := range f.words {
		ok := false
		switch {
		case w.key != "":
			ok = properties[w.key](p, i, w.value)
		case w.not: // turned round, letters anywhere would throw out nearly all
			ok = holds(nameAndFolder(p.vm(i)), w.value)
		default:
			ok = fuzzy(plaintext.Label(p.vm(i).VM.Name), w.value) || holds(plaintext.Label(p.vm(i).VM.Folder), w.value)
		}
		if ok == w.not {
			return false
		}
	}
	return true
}

// rank puts rows that hold the bare words as they were typed before those that have but their letters.
func (f filter) rank(p *Page) {
	var bare []string
	for _, w := range f.words {
		if w.key == "" && !w.not {
			bare = append(bare, w.value)
		}
	}
	if len(bare) == 0 {
		return
	}
	exact := func(i int) bool {
		for _, b := range bare {
			if !holds(nameAndFolder(p.vm(i)), b) {
				return false
			}
		}
		return true
	}
	first, rest := make([]int, 0, len(p.rows)), make([]int, 0, len(p.rows))
	for _, i := range p.rows {
		if exact(i) {
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	p.rows = append(first, rest...)
}

func (p *Page) vm(i int) *engine.Listed { return &p.snap.Inventory[i] }

func nameAndFolder(l *engine.Listed) string { return plaintext.Label(l.VM.Name + " " + l.VM.Folder) }

func prefix(s, v string) bool { return strings.HasPrefix(strings.ToLower(s), v) }

func holds(s, v string) bool { return strings.Contains(strings.ToLower(s), v) }

// fuzzy tells whether the letters of want stand in s in their order.
func fuzzy(s, want string) bool {
	s = strings.ToLower(s)
	for _, r := range want {
		i := strings.IndexRune(s, r)
		if i < 0 {
			return false
		}
		s = s[i+utf8.RuneLen(r):]
	}
	return true
}

func yes(is bool, v string) bool {
	if strings.HasPrefix("no", v) || v == "none" {
		return !is
	}
	return is
}

func datastore(p *Page, i int, v string) bool {
	return slices.ContainsFunc(p.vm(i).VM.DiskList, func(d machine.Disk) bool { return holds(d.Datastore, v) })
}

func network(p *Page, i int, v string) bool {
	return slices.ContainsFunc(p.vm(i).VM.NICs, func(n machine.NIC) bool { return holds(n.Network, v) })
}

// levelWords are what an operator may call a level.
var levelWords = map[preflight.Level]string{
	preflight.Blocker: "blocked blockers", preflight.Decide: "decisions decide", preflight.Warning: "warnings warned",
	preflight.Info: "ready info", "": "ready",
}

func isVerdict(p *Page, i int, v string) bool {
	got := p.newest(i)
	if !got.known {
		return false
	}
	for w := range strings.FieldsSeq(levelWords[got.level]) {
		if strings.HasPrefix(w, v) {
			return true
		}
	}
	return holds(got.label, v)
}

func migrationWord(p *Page, i int) string {
	if ph := p.phase(*p.vm(i)); ph != "" {
		return string(ph)
	}
	return "none"
}
