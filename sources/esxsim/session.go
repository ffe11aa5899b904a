package esxsim

import (
	"crypto/subtle"
	"errors"
	"sync"
	"time"
)

// session is one login of either kind.
type session struct {
	id    string
	used  time.Time
	ended chan struct{}
	api   bool // known to the simulator, not only to /folder
}

// sessions are the logins that are alive, and the accounts that are locked.
type sessions struct {
	mu          sync.Mutex
	cfg         *Config
	now         func() time.Time
	counters    *counting
	byID        map[string]*session
	wrong       int       // wrong passwords in a row
	lockedUntil time.Time // of the one account that exists
}

var (
	errTooMany = errors.New("too many sessions")
	errLogin   = errors.New("cannot complete login due to an incorrect user name or password")
)

// check judges a login as a host does: a locked account refuses the right
// password too, and says the same.
func (s *sessions) check(user, password string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if now.Before(s.lockedUntil) {
		s.counters.locked(func() { s.counters.c.LockedLogins++ })
		return errLogin
	}
	if subtle.ConstantTimeCompare([]byte(user+"\x00"+password), []byte(s.cfg.User+"\x00"+s.cfg.Password)) != 1 {
		s.counters.locked(func() { s.counters.c.FailedLogins++ })
		if s.wrong++; s.cfg.LockAfter > 0 && s.wrong >= s.cfg.LockAfter {
			s.wrong, s.lockedUntil = 0, now.Add(s.cfg.LockFor)
		}
		return errLogin
	}
	s.wrong = 0
	s.counters.locked(func() { s.counters.c.Logins++ })
	return nil
}

func (s *sessions) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg.MaxSessions > 0 && len(s.byID) >= s.cfg.MaxSessions
}

func (s *sessions) add(id string, api bool) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &session{id: id, used: s.now(), ended: make(chan struct{}), api: api}
	s.byID[id] = n
	return n
}

// use finds a session and keeps it alive; nil if there is none or it idled
// out, in which case expired is what has to be ended elsewhere.
func (s *sessions) use(id string) (alive, expired *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.byID[id]
	if n == nil {
		return nil, nil
	}
	if s.now().Sub(n.used) > s.cfg.SessionIdle {
		s.drop(n)
		return nil, n
	}
	n.used = s.now()
	return n, nil
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.byID[id]; n != nil {
		s.drop(n)
	}
}

func (s *sessions) endAll() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []*session
	for _, n := range s.byID {
		s.drop(n)
		gone = append(gone, n)
	}
	return gone
}

func (s *sessions) drop(n *session) {
	delete(s.byID, n.id)
	close(n.ended)
}

func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID)
}
