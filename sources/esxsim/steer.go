package esxsim

import (
	"crypto/sha256"

	"github.com/vmware/govmomi/vim25/types"
)

// EndSessions ends every session; calls that wait are told so.
func (s *Server) EndSessions() { s.terminate(s.sessions.endAll()...) }

// SwapCertificate gives the host another certificate, which it keeps. As
// after a restart of the host's services, connections break and nothing is
// resumed.
func (s *Server) SwapCertificate() error {
	c, err := newCertificate(s.certificateFile())
	if err != nil {
		return err
	}
	var key [32]byte
	copy(key[:], c.Leaf.Signature)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cert = c
	s.tls.SetSessionTicketKeys([][32]byte{sha256.Sum256(key[:])})
	for n := range s.conns {
		_ = n.Close()
	}
	return nil
}

// SetRate limits all /folder bodies together; 0 lifts the limit.
func (s *Server) SetRate(bytesPerSecond int64) {
	if bytesPerSecond <= 0 {
		s.rate.Store(nil)
		return
	}
	s.rate.Store(newLimiter(bytesPerSecond))
}

// FailSOAP adds a line to the fault script.
func (s *Server) FailSOAP(f SOAPFault) error {
	if f.Fault != "" {
		if _, err := newFault(f.Fault, types.ManagedObjectReference{}); err != nil {
			return err
		}
	}
	s.script.mu.Lock()
	defer s.script.mu.Unlock()
	s.script.soaps = append(s.script.soaps, &f)
	return nil
}

// FailHTTP adds a line to the fault script.
func (s *Server) FailHTTP(f HTTPFault) error {
	s.script.mu.Lock()
	defer s.script.mu.Unlock()
	s.script.https = append(s.script.https, &f)
	return nil
}

// ClearFaults empties the fault script and ends every stall.
func (s *Server) ClearFaults() { s.script.clear() }

// Counters is what the host has done so far.
func (s *Server) Counters() Counters {
	c := s.counters.snapshot()
	c.Sessions = s.sessions.count()
	return c
}

// ResetCounters begins to count anew.
func (s *Server) ResetCounters() { s.counters.reset() }
