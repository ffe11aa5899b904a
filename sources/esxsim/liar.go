package esxsim

// TrackingFaults are lies and failures of one disk's change tracking.
type TrackingFaults struct {
	// Omit are areas that no answer has, whatever was written there.
	Omit []Range `json:"omit,omitempty"`
	// Stuck answers reach no further than where they start.
	Stuck bool `json:"stuck,omitempty"`
	// Whole gives the whole disk as one extent for "*".
	Whole bool `json:"whole,omitempty"`
	// Unknown fails "*", as elsewhere than on VMFS.
	Unknown bool `json:"unknown,omitempty"`
	// Lax answers for an id of another tracking file as if it were this one's,
	// instead of failing.
	Lax bool `json:"lax,omitempty"`
}

// SetTracking changes how a disk's change tracking answers from now on.
func (s *Server) SetTracking(vm string, index int, f TrackingFaults) error {
	m, d, err := s.findDisk(vm, index)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d.lies = f
	return nil
}

// LoseTracking makes every change id of a VM unknown, as a crash of the host
// or a move to another datastore does.
func (s *Server) LoseTracking(vm string) error {
	m, err := s.find(vm)
	if err != nil {
		return err
	}
	m.change(m.loseTracking)
	return nil
}

// SetQuiesce says whether the guest can be brought to rest for a snapshot.
func (s *Server) SetQuiesce(vm string, works bool) error {
	m, err := s.find(vm)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.quiesce = !works
	return nil
}

// KeepDeltas lets so many removals of snapshots to come succeed and leave the
// deltas where they are: the VM needs consolidation then.
func (s *Server) KeepDeltas(vm string, removals int) error {
	m, err := s.find(vm)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keepDisk = removals
	return nil
}

// without cuts holes out of sorted areas.
func without(areas, holes []Range) []Range {
	for _, h := range holes {
		var left []Range
		for _, a := range areas {
			if from, to := a.Offset, min(a.Offset+a.Length, h.Offset); from < to {
				left = append(left, Range{from, to - from})
			}
			if from, to := max(a.Offset, h.Offset+h.Length), a.Offset+a.Length; from < to {
				left = append(left, Range{from, to - from})
			}
		}
		areas = left
	}
	return areas
}
