package kubesim

import "time"

// pacer makes controllers take their time: a step is due Pace after it was first asked for.
type pacer struct {
	pace time.Duration
	due  map[string]time.Time
	next time.Time // when the earliest step that was asked for in this pass is due
}

// passed says whether the step may be taken; once it may, the next question with this key waits anew.
func (p *pacer) passed(key string, paces float64) bool {
	now := time.Now()
	at, asked := p.due[key]
	if !asked {
		at = now.Add(time.Duration(paces * float64(p.pace)))
		p.due[key] = at
	}
	if !now.Before(at) {
		delete(p.due, key)
		return true
	}
	if p.next.IsZero() || at.Before(p.next) {
		p.next = at
	}
	return false
}

// play runs the controllers until the server stops: after every change, and whenever a step is due.
func (s *Server) play() {
	defer s.wait.Done()
	for {
		news := s.store.changed()
		script := s.faults.changed()
		s.pacer.next = time.Time{}
		s.store.view(s.pass)
		idle := time.Minute
		if !s.pacer.next.IsZero() {
			idle = max(time.Until(s.pacer.next), 0)
		}
		timer := time.NewTimer(idle)
		select {
		case <-s.ctx.Done():
			timer.Stop()
			return
		case <-news:
		case <-script:
		case <-s.nudge:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// pass lets every controller look at everything once. Each only writes what differs, so that passes come to rest.
func (s *Server) pass(t tx) {
	s.playNamespaces(t)
	s.playOwners(t)
	s.playClaims(t)
	if !s.cfg.NoCDI {
		s.playDataVolumes(t)
	}
	if !s.cfg.NoKubeVirt {
		s.playMachines(t)
		s.playInstances(t)
	}
	s.playEndpoints(t)
	s.playQuotas(t)
}

// wake makes the controllers look again for something that is not an object.
func (s *Server) wake() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}
