package esxsim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"
)

// Writer is a guest that keeps writing to a disk while it is on. Where and
// what is the same for the same seed; how much is written by when depends on
// the clock.
type Writer struct {
	Disk  int    `json:"disk,omitempty"`
	Rate  int64  `json:"rate"`            // bytes per second; 0 stops
	Block int64  `json:"block,omitempty"` // bytes at a time, default 64 KiB
	Seed  uint64 `json:"seed,omitempty"`
	Area  Range  `json:"area"` // where; the whole disk if it has no length
}

type writing struct {
	spec    Writer
	random  *rand.Rand
	stop    chan struct{}
	written int64
}

// SetWriter lets a guest write from now on, or at another rate.
func (s *Server) SetWriter(vm string, w Writer) error {
	m, d, err := s.findDisk(vm, w.Disk)
	if err != nil {
		return err
	}
	def(&w.Block, 64<<10)
	if w.Area.Length == 0 {
		w.Area = Range{0, d.size}
	}
	w.Block = min(w.Block, w.Area.Length)
	if w.Area.Offset < 0 || w.Area.Length < 0 || w.Area.Offset+w.Area.Length > d.size || w.Block <= 0 || w.Rate < 0 {
		return fmt.Errorf("writer of disk %d of vm %q: %d bytes at %d+%d of %d", w.Disk, vm, w.Block, w.Area.Offset, w.Area.Length, d.size)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.writers[w.Disk]; old != nil {
		close(old.stop)
		delete(m.writers, w.Disk)
	}
	if w.Rate == 0 {
		return nil
	}
	k := &writing{spec: w, random: rand.New(rand.NewPCG(w.Seed, 1)), stop: make(chan struct{})}
	if m.writers == nil {
		m.writers = map[int]*writing{}
	}
	m.writers[w.Disk] = k
	s.serving.Go(func() { k.run(m, d, s.closing) })
	return nil
}

func (k *writing) run(m *machine, d *disk, closing <-chan struct{}) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	last := time.Now()
	owed := float64(0)
	for {
		select {
		case <-closing:
			return
		case <-k.stop:
			return
		case now := <-ticker.C:
			owed = min(owed+now.Sub(last).Seconds()*float64(k.spec.Rate), float64(k.spec.Rate)+float64(k.spec.Block)) // what a busy machine missed is not made up for
			last = now
		}
		for ; owed >= float64(k.spec.Block); owed -= float64(k.spec.Block) {
			if !k.step(m, d) {
				break
			}
		}
	}
}

// step writes one block if the VM is on.
func (k *writing) step(m *machine, d *disk) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-k.stop:
		return false
	default:
	}
	if m.power != On || m.gone {
		return false
	}
	if err := d.write(k.block()); err != nil {
		fmt.Fprintf(m.server.cfg.Log, "guest of %q writes: %v\n", m.name, err)
		return false
	}
	k.written += k.spec.Block
	return true
}

func (k *writing) block() (int64, []byte) {
	a := k.spec.Area
	off := a.Offset + k.random.Int64N((a.Length-k.spec.Block)/4096+1)*4096
	p := make([]byte, (k.spec.Block+7)/8*8)
	for i := 0; i < len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], k.random.Uint64())
	}
	return off, p[:k.spec.Block]
}

// Write lets a guest write so many blocks now, whatever its power: a writer
// without a clock. The same call gives the same writes.
func (s *Server) Write(vm string, w Writer, blocks int) error {
	m, d, err := s.findDisk(vm, w.Disk)
	if err != nil {
		return err
	}
	def(&w.Block, 64<<10)
	if w.Area.Length == 0 {
		w.Area = Range{0, d.size}
	}
	w.Block = min(w.Block, w.Area.Length)
	k := &writing{spec: w, random: rand.New(rand.NewPCG(w.Seed, 1))}
	m.mu.Lock()
	defer m.mu.Unlock()
	for range blocks {
		if err := d.write(k.block()); err != nil {
			return fmt.Errorf("disk %d of vm %q: %w", w.Disk, vm, err)
		}
	}
	return nil
}
