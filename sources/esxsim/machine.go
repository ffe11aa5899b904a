package esxsim

import (
	"fmt"
	"os"
	"path"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// machine is a VM at run time. Everything below mu changes.
type machine struct {
	server *Server
	spec   VM
	obj    *simulator.VirtualMachine
	ref    types.ManagedObjectReference
	home   *store

	mu       sync.Mutex
	name     string
	power    Power
	held     bool // its files are locked: it runs, or has only just stopped
	turn     int  // raised by every change of power, so that a late shutdown hits nothing
	shutdown Shutdown
	tracking bool // change tracking is active
	writers  map[int]*writing
	quiesce  bool // quiesced snapshots fail
	keepDisk int  // removals of snapshots to come that leave the deltas
	disks    []*disk
	gone     bool // unregistered
}

// disk is a virtual disk at run time.
type disk struct {
	spec   Disk
	store  *store
	size   int64
	layers []layer
	top    int // index of the layer that a running VM writes
	deltas map[string]*delta

	stamps     []uint32            // epoch of the last write, by grain; 0 for never
	frozen     map[string][]uint32 // those of each snapshot, by the descriptor of the delta that it began
	generation int                 // of the tracking file
	late       int                 // snapshots that are older than the disk
	lies       TrackingFaults

	key, bus, unit int32
	label          string
	epoch          int // sequence number of the change id
}

func (d *disk) dir() string { return d.store.abs(d.spec.Directory) }

// changeID has the form of a host's: a UUID that dies with the tracking
// file, and a sequence number.
func (d *disk) changeID() string {
	parts := []string{d.spec.UUID, "ctk"}
	if d.generation > 0 {
		parts = append(parts, fmt.Sprint(d.generation))
	}
	return fmt.Sprintf("%s/%d", spacedUUID(stableUUID(parts...)), d.epoch)
}

// chain lists the layers from the given one down to the base.
func (d *disk) chain(at int) []int {
	var c []int
	for ; at >= 0; at = d.layers[at].Parent {
		c = append(c, at)
	}
	return c
}

// prepare makes the VM's files; what is there already is kept.
func (m *machine) prepare() error {
	dir := m.home.abs(m.spec.Directory)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("vm %q: %w", m.spec.Name, err)
	}
	for i, d := range m.disks {
		if err := os.MkdirAll(d.dir(), 0o700); err != nil {
			return fmt.Errorf("vm %q: %w", m.spec.Name, err)
		}
		if !d.spec.Bare {
			if err := makeExtent(path.Join(d.dir(), d.layers[0].Extent), d.size, d.spec.Contents); err != nil {
				return fmt.Errorf("vm %q disk %d: %w", m.spec.Name, i, err)
			}
		}
		if err := m.writeLayers(d); err != nil {
			return fmt.Errorf("vm %q disk %d: %w", m.spec.Name, i, err)
		}
	}
	base := path.Join(dir, m.fileBase())
	for _, f := range []string{base + ".nvram", base + ".vmsd", path.Join(dir, "vmware.log")} {
		if h, err := os.OpenFile(f, os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return fmt.Errorf("vm %q: %w", m.spec.Name, err)
		} else {
			h.Close()
		}
	}
	return m.writeVMX()
}

// writeLayers rewrites every descriptor of a disk and makes missing deltas.
func (m *machine) writeLayers(d *disk) error {
	for i, l := range d.layers {
		if err := writeDescriptor(d.dir(), d.spec, d.size, d.layers, i, m.tracking); err != nil {
			return err
		}
		if m.tracking {
			if err := touch(path.Join(d.dir(), trackingFile(l.Descriptor))); err != nil {
				return err
			}
		}
		if !l.delta() {
			continue
		}
		delta := path.Join(d.dir(), l.Extent)
		if _, err := os.Stat(delta); err == nil {
			continue
		}
		if err := writeEmptyDelta(delta, d.size, d.layers[l.Parent].Descriptor); err != nil {
			return err
		}
	}
	return nil
}

func touch(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func (m *machine) fileBase() string { return fileName(m.spec.Name) }

func (m *machine) vmx() dsPath {
	return dsPath{m.home.spec.Name, path.Join(m.spec.Directory, m.fileBase()+".vmx")}
}

// lockFiles are there while the VM runs, on a host as here.
func (m *machine) lockFiles() []string {
	base := m.home.abs(path.Join(m.spec.Directory, m.fileBase()))
	return []string{base + ".vmx.lck", base + "-" + contentID(m.spec.InstanceUUID) + ".vswp"}
}

// setLocks makes the lock files and holds the extents, or the reverse; no
// lock file is there of a VM whose extents are free.
func (m *machine) setLocks(held bool) {
	if !held {
		defer m.hold(false)
		for _, f := range m.lockFiles() {
			_ = os.Remove(f)
		}
		return
	}
	m.hold(true)
	for _, f := range m.lockFiles() {
		_ = touch(f)
	}
}

func (m *machine) hold(held bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = held
}

// after runs f later unless the power has changed meanwhile or the host stopped.
func (m *machine) after(d time.Duration, turn int, f func()) {
	m.server.later(d, func() {
		m.mu.Lock()
		stale := m.turn != turn
		m.mu.Unlock()
		if !stale {
			f()
		}
	})
}
