package esxsim

import (
	"encoding/gob"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Change tracking keeps for every grain the epoch of its last write. Each
// snapshot begins another epoch and keeps the stamps as they were, so that a
// question about the snapshot is not answered by what came after it.

func (d *disk) stamp(first, end int64) {
	if len(d.stamps) != grains(d.size) {
		d.stamps = append(d.stamps, make([]uint32, max(grains(d.size)-len(d.stamps), 0))...)
	}
	for i := first; i < end; i++ {
		d.stamps[i] = uint32(d.epoch)
	}
}

// freeze is done right after the delta was put on top: what the stamps are
// now is what the snapshot has.
func (d *disk) freeze() {
	if d.frozen == nil {
		d.frozen = map[string][]uint32{}
	}
	d.frozen[d.layers[d.top].Descriptor] = append([]uint32(nil), d.stamps...)
	d.epoch++
	d.layers[d.top].ChangeID = d.changeID()
}

// lose makes every change id unknown, as a crash of the host, a move to
// another datastore, a revert and another size do.
func (d *disk) lose() {
	d.generation++
	d.stamps, d.frozen = nil, nil
	d.epoch++
	for i := range d.layers {
		d.layers[i].ChangeID = ""
	}
}

// changedSince lists the grains written since an id; ok is false for an id of
// another tracking file, or of the future.
func (d *disk) changedSince(stamps []uint32, id string) (areas []Range, ok bool) {
	uuid, text, _ := strings.Cut(id, "/")
	now, _, _ := strings.Cut(d.changeID(), "/")
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || !d.lies.Lax && (uuid != now || int(n) > d.epoch) {
		return nil, false
	}
	used := make([]bool, grains(d.size))
	for i, s := range stamps {
		used[i] = s != 0 && uint64(s) >= n
	}
	return rangesOf(used, changeGrain, d.size), true
}

// kept is what the tracking files of a VM hold over a clean stop of the host.
type kept struct {
	Stamps []uint32
	Frozen map[string][]uint32
}

func (m *machine) trackingStore() string {
	return filepath.Join(m.server.dir, "tracking", m.spec.InstanceUUID)
}

// saveTracking is for a clean stop. Without it, all ids are dead at the next
// start, as they are after a crash.
func (m *machine) saveTracking() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.tracking {
		return nil
	}
	var all []kept
	for _, d := range m.disks {
		all = append(all, kept{d.stamps, d.frozen})
	}
	name := m.trackingStore()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = gob.NewEncoder(f).Encode(all)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// loadTracking takes over what a clean stop left, once.
func (m *machine) loadTracking() {
	if !m.tracking {
		return
	}
	var all []kept
	f, err := os.Open(m.trackingStore())
	if err == nil {
		err = gob.NewDecoder(f).Decode(&all)
		f.Close()
		_ = os.Remove(m.trackingStore())
	}
	if err == nil && len(all) != len(m.disks) {
		err = fmt.Errorf("tracking of %d disks", len(all))
	}
	for i, d := range m.disks {
		if err != nil {
			d.lose()
			continue
		}
		d.stamps, d.frozen = all[i].Stamps, all[i].Frozen
	}
}
