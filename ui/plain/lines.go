package plain

import (
	"fmt"
	"strings"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/feed"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

// show prints what changed.
func (s *session) show(snap *feed.Snapshot) {
	first := s.snap == nil
	if !first && snap.Failure != s.failure && snap.Failure != "" {
		s.say("cannot read the workspace: %s", plaintext.Label(snap.Failure))
	}
	s.failure = snap.Failure
	s.snap = snap
	if s.alive == nil || *s.alive != snap.Alive {
		s.alive = &snap.Alive
		if snap.Alive {
			s.say("the engine runs")
		} else {
			s.say("no engine runs: nothing moves (start starts one)")
		}
	}
	ended := 0
	for i := len(snap.Lines) - 1; i >= 0; i-- {
		l := snap.Lines[i]
		if first && l.Phase.Terminal() {
			s.seen[l.UID] = state(l)
			ended++
			continue
		}
		if now := state(l); s.seen[l.UID] != now {
			s.seen[l.UID] = now
			s.line(l)
		}
	}
	if first {
		s.say("%d migrations have ended, %d go on", ended, len(snap.Lines)-ended)
	}
	s.questions()
}

// state is what a line is printed anew for: progress counts in tens.
func state(l engine.Line) string {
	return fmt.Sprintf("%s %s %s %d %d %s", l.Phase, l.Reason, l.Message, widget.Percent(l.Done, l.Total)/10, l.Queue, l.Want)
}

func (s *session) line(l engine.Line) {
	now := s.cfg.Now()
	parts := []string{now.Format("15:04:05"), plaintext.Label(l.VM), pages.Word(l.Phase)}
	if l.Queue > 0 {
		parts = append(parts, fmt.Sprintf("place %d in the line", l.Queue))
	}
	if n := widget.Percent(l.Done, l.Total); n >= 0 && !l.Phase.Terminal() {
		parts = append(parts, fmt.Sprintf("%d%% of %s", n, widget.Bytes(l.Total)))
		if r := widget.Rate(l.Rate); r != "" {
			parts = append(parts, r+", ETA "+widget.ETA(l.ETA))
		}
	}
	if d := pages.Downtime(l.Times, now); d != "" {
		parts = append(parts, "downtime "+d)
	}
	if l.Message != "" {
		parts = append(parts, plaintext.Label(strings.TrimPrefix(l.Reason+": ", ": ")+l.Message))
	}
	s.say("%s", strings.Join(parts, "  "))
}

// questions asks each decision once, under a number that it keeps, and tells of those that are gone.
func (s *session) questions() {
	open := map[string]int64{}
	for _, d := range s.snap.Waiting {
		open[d.ID] = d.Version
		n := s.numbers[d.ID]
		switch {
		case n == 0:
			s.asked = append(s.asked, d)
			s.numbers[d.ID] = len(s.asked)
			s.ask(len(s.asked))
		case s.asked[n-1].Version != d.Version:
			s.asked[n-1] = d
			s.drop(n)
			s.say("decision %d has changed:", n)
			s.ask(n)
		}
	}
	for id, n := range s.numbers {
		if _, ok := open[id]; !ok {
			delete(s.numbers, id)
			s.drop(n)
			if !s.settled[id] {
				s.say("decision %d is not asked any more", n)
			}
		}
	}
}

// drop forgets a dangerous answer that waits for its confirmation.
func (s *session) drop(number int) {
	if s.confirm != nil && s.confirm.number == number {
		s.confirm = nil
		s.say("what you were about to confirm was not done")
	}
}

func (s *session) ask(number int) {
	d := s.asked[number-1]
	s.say("DECISION %d, VM %s: %s", number, s.vm(d), plaintext.Label(d.Question))
	if d.Why != "" {
		s.say("  why: %s", plaintext.Label(d.Why))
	}
	if d.Value != "" {
		s.say("  value: %s", plaintext.Label(d.Value))
	}
	for i, o := range d.Options {
		mark := ""
		if o.Dangerous {
			mark = " (cannot be undone)"
		}
		s.say("  %d %d  %s%s: %s", number, i+1, plaintext.Label(o.Label), mark, plaintext.Label(o.Effect))
	}
	if !s.cfg.ReadOnly {
		s.say("  to answer, type the two numbers, such as: %d 1", number)
	}
}

func (s *session) vm(d engine.Decision) string {
	if l, ok := s.snap.Line(d.Migration); ok {
		return plaintext.Label(l.VM)
	}
	return plaintext.Label(d.Migration)
}
