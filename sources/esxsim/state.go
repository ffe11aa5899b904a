package esxsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// state is what outlives the process, beside certificate and disks.
type state struct {
	VMs map[string]*vmState `json:"vms"` // by instance UUID
}

type vmState struct {
	Name         string      `json:"name"`
	Power        Power       `json:"power"`
	Tracking     bool        `json:"tracking,omitempty"`
	Unregistered bool        `json:"unregistered,omitempty"`
	Snapshots    []Snapshot  `json:"snapshots,omitempty"`
	Disks        []diskState `json:"disks,omitempty"`
}

type diskState struct {
	Size   int64   `json:"size"`
	Layers []layer `json:"layers"`
	Epoch  int     `json:"epoch"`
	// Generation is of the tracking file.
	Generation int `json:"generation,omitempty"`
}

func loadState(dir string) (state, error) {
	st := state{VMs: map[string]*vmState{}}
	b, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err != nil {
		return st, fmt.Errorf("read state: %w", err)
	}
	if err := json.Unmarshal(b, &st); err != nil {
		return st, fmt.Errorf("read state in %s: %w", dir, err)
	}
	return st, nil
}

// remember keeps what has changed of a VM.
func (s *Server) remember(m *machine) {
	m.mu.Lock()
	v := &vmState{Name: m.name, Power: m.power, Tracking: m.tracking, Unregistered: m.gone}
	for _, d := range m.disks {
		v.Disks = append(v.Disks, diskState{Size: d.size, Layers: append([]layer(nil), d.layers...), Epoch: d.epoch, Generation: d.generation})
	}
	m.mu.Unlock()
	ctx := s.context()
	ctx.WithLock(m.obj, func() {
		for _, n := range m.snapshotLine() {
			v.Snapshots = append(v.Snapshots, Snapshot{n.Name, n.Description, n.CreateTime})
		}
	})
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if s.ended {
		return // a task that is still at its end finds nobody to remember for
	}
	s.state.VMs[m.spec.InstanceUUID] = v
	b, err := json.MarshalIndent(s.state, "", " ")
	if err == nil {
		err = keepFile(filepath.Join(s.dir, "state.json"), b)
	}
	if err != nil {
		fmt.Fprintf(s.cfg.Log, "keep state: %v\n", err)
	}
}

// recall puts a VM back to where it was when the process ended.
func (m *machine) recall(v *vmState) {
	m.name, m.power, m.tracking = v.Name, v.Power, v.Tracking
	m.spec.Snapshots = v.Snapshots
	for i, d := range m.disks {
		if i < len(v.Disks) && len(v.Disks[i].Layers) > 0 {
			d.size, d.epoch, d.generation = v.Disks[i].Size, v.Disks[i].Epoch, v.Disks[i].Generation
			d.layers = v.Disks[i].Layers
			d.top = len(d.layers) - 1
		}
	}
	m.loadTracking()
}
