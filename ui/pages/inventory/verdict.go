package inventory

import (
	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/engine/preflight"
	"landfall/ui/pages"
)

// verdict is what the rules say of a VM.
type verdict struct {
	label  string
	level  preflight.Level
	known  bool
	looked bool // live, by the engine; else it is the first view of the inventory
}

// weight orders verdicts: what is ready first.
func (v verdict) weight() int {
	switch v.level {
	case preflight.Blocker:
		return 4
	case preflight.Decide:
		return 3
	case preflight.Warning:
		return 2
	case preflight.Info:
		return 1
	}
	return 0
}

// verdicts keeps what was judged, for one listing. Rows that are drawn are judged one by one, all of them only aside.
type verdicts struct {
	judge   pages.Verdict
	listing int
	of      []verdict
	full    bool
	asked   bool
}

// judged is the result of judging all.
type judged struct {
	listing int
	of      []verdict
}

func (v *verdicts) reset(listing, n int) {
	v.listing, v.of, v.full, v.asked = listing, make([]verdict, n), false, false
}

// at judges one VM now, once.
func (v *verdicts) at(i int, l engine.Listed) verdict {
	if v.judge == nil || i >= len(v.of) {
		return verdict{}
	}
	if !v.of[i].known {
		label, level := v.judge(l)
		v.of[i] = verdict{label: label, level: level, known: true}
	}
	return v.of[i]
}

// known gives a verdict only if there is one already.
func (v *verdicts) known(i int) verdict {
	if i >= len(v.of) {
		return verdict{}
	}
	return v.of[i]
}

// all asks for every verdict, once for a listing.
func (v *verdicts) all(vms []engine.Listed) pages.Action {
	if v.judge == nil || v.full || v.asked {
		return nil
	}
	v.asked = true
	judge, listing := v.judge, v.listing
	return pages.Aside{Work: func() tea.Msg {
		out := make([]verdict, len(vms))
		for i, l := range vms {
			label, level := judge(l)
			out[i] = verdict{label: label, level: level, known: true}
		}
		return judged{listing, out}
	}}
}

// take keeps verdicts that are of this listing still.
func (v *verdicts) take(j judged) bool {
	if j.listing != v.listing || len(j.of) != len(v.of) {
		return false
	}
	v.of, v.full = j.of, true
	return true
}
