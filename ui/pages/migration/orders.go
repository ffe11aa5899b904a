package migration

import (
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

// orderKeys are those for how the copy is made and when it is cut over, where they still make a difference.
func (p *Page) orderKeys() (keys []keymap.Binding) {
	l, ok := p.line()
	d := p.detail()
	if !ok || d == nil {
		return nil
	}
	if cuts(d.Migration) {
		if !d.Migration.Document.Spec.Strategy.Warm.Hold {
			keys = append(keys, keymap.CutOver)
		}
		keys = append(keys, keymap.Hold)
	}
	if copies(d.Migration, l) {
		keys = append(keys, keymap.Throttle, keymap.Pause)
	}
	return keys
}

// copies tells whether disks are still to be copied.
func copies(m engine.Migration, l engine.Line) bool {
	at := l.Phase
	if at.Rest() {
		at = l.Resume
	}
	n := step(at)
	return n >= 0 && n < step(engine.Converting) && m.Want != engine.WantCancel
}

// cuts tells whether the source of a warm migration is still to be stopped.
func cuts(m engine.Migration) bool {
	if w := m.Status.Warm; w == nil || m.Want == engine.WantCancel || m.Status.Phase.Terminal() {
		return false
	} else {
		return w.Phase == warm.Initializing || w.Phase == warm.Active || w.Phase == warm.PreparingTarget
	}
}

// order gives what a key wants of the running copy; ok tells whether the key is one of these.
func (p *Page) order(k tea.KeyPressMsg) (a pages.Action, ok bool) {
	for _, b := range []keymap.Binding{keymap.CutOver, keymap.Hold, keymap.Throttle, keymap.Pause} {
		ok = ok || b.Hit(k)
	}
	l, known := p.line()
	d := p.detail()
	if !ok || !known || d == nil {
		return nil, ok
	}
	m, name := d.Migration, plaintext.Label(l.VM)
	adjust := func(said string, change func(*spec.Strategy)) pages.Action {
		return pages.Adjust{UID: m.UID, Name: name, Said: said, Change: change}
	}
	now := m.Document.Spec.Strategy
	switch {
	case keymap.CutOver.Hit(k), keymap.Hold.Hit(k):
		switch {
		case !cuts(m):
			return pages.Say{Text: "there is no source here that is still to be cut over"}, true
		case keymap.Hold.Hit(k) && now.Warm.Hold:
			return adjust("the hold is taken back; a word to cut over is to be given anew", func(s *spec.Strategy) { s.Warm.Hold = false }), true
		case keymap.Hold.Hit(k):
			return adjust("the cutover is held", func(s *spec.Strategy) { s.Warm.Hold = true }), true
		case now.Warm.Hold:
			return pages.Say{Text: "the cutover is held: " + keymap.Hold.Help().Key + " takes the hold back"}, true
		case now.Warm.CutOver:
			return pages.Say{Text: "the word is given already; " + keymap.Hold.Help().Key + " takes it back"}, true
		}
		return pages.AskCutOver{UID: m.UID, Effect: effect(m)}, true
	case !copies(m, l):
		return pages.Say{Text: "no disk of this migration is still to be copied"}, true
	case keymap.Throttle.Hit(k):
		return pages.AskText{Title: "Throttle", Text: "At most how many MiB per second may be read from the source? 0 lifts the limit.", Value: strconv.FormatInt(now.Throttle>>20, 10),
			Take: func(v string) pages.Action {
				n, err := strconv.ParseInt(v, 10, 64)
				if err != nil || n < 0 || n > 1<<20 {
					return pages.Say{Text: "the limit is a whole number of MiB per second from 0 to 1048576"}
				}
				said := "no limit"
				if n > 0 {
					said = "at most " + widget.Rate(float64(n<<20))
				}
				return adjust(said, func(s *spec.Strategy) { s.Throttle = n << 20 })
			}}, true
	case now.Paused:
		return adjust("goes on", func(s *spec.Strategy) { s.Paused = false }), true
	}
	return adjust("paused", func(s *spec.Strategy) { s.Paused = true }), true
}

// effect says what the word to cut over leads to.
func effect(m engine.Migration) string {
	s := "As soon as every disk has converged and the target is ready, the guest is asked to shut down, by the policy " +
		string(m.Document.Spec.Default().Source.PowerOffPolicy) + "; what changed last is copied, and the VM is started in the cluster. "
	switch total, known := m.Status.Warm.Forecast.Total(); {
	case known:
		s += "Projected downtime: " + widget.Span(total) + "."
	case total < time.Second:
		s += "The downtime cannot be forecast yet."
	default:
		s += "The downtime is at least " + widget.Span(total) + "; not all of it is known."
	}
	return s + " Until the source is stopped, a hold takes the word back."
}
