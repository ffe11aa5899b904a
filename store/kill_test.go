package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"landfall/engine"
	"landfall/engine/boundary"
	"landfall/engine/transfer"
	"landfall/sources"
	"landfall/store"
)

// step is the n-th checkpoint of a migration that is written without end: everything in it says n.
func step(m engine.Migration) engine.Checkpoint {
	n := m.Version
	m.Status.Phase, m.Status.Attempt, m.Status.Queue = engine.Preparing, int(n), int(n)
	m.Status.Disks = []engine.Disk{{Copied: n, ToCopy: 1 << 40, Extents: []sources.Extent{{Offset: n, Length: n}}}}
	name := strconv.FormatInt(n, 10)
	return engine.Checkpoint{
		Migration: m,
		Events:    []engine.Event{{Level: "info", Phase: engine.Preparing, Message: name}},
		Hold:      []engine.Held{{Kind: "file", Name: name}},
		Gone:      []engine.Held{{Kind: "file", Name: strconv.FormatInt(n-1, 10)}},
		Ask:       []engine.Decision{{ID: "q" + name, Options: []engine.Option{{ID: "yes"}}}},
	}
}

func batch(n int64) []transfer.Chunk {
	all := make([]transfer.Chunk, 32)
	for i := range all {
		all[i] = transfer.Chunk{Index: (n*32 + int64(i)*7) % 4096, Sum: [32]byte{byte(n), byte(n >> 8), 1}}
	}
	return all
}

// commitUntilKilled prints the number of each checkpoint once it is said to be durable.
func commitUntilKilled(dir string) error {
	s, err := openAs(dir)
	if err != nil {
		return err
	}
	all, err := s.Active(background)
	if err != nil {
		return err
	}
	for m := all[0]; ; m.Version++ {
		if err := s.Ledger(m.UID, 0).Record(background, batch(m.Version)); err != nil {
			return err
		}
		if _, err := s.Commit(background, step(m)); err != nil {
			return err
		}
		fmt.Println(m.Version)
	}
}

func TestKilledWhileItCommits(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir() + "/workspace"
	s := open(t, dir)
	m := applied(t, s, 1)
	rounds := 25
	if testing.Short() {
		rounds = 5
	}
	told := int64(1)
	for range rounds {
		p := child(t, "commit", dir)
		told, _ = strconv.ParseInt(p.next(t), 10, 64)
		time.Sleep(time.Duration(random.IntN(60_000)) * time.Microsecond)
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if all := p.lines(); len(all) > 0 {
			told, _ = strconv.ParseInt(all[len(all)-1], 10, 64)
		}
		_ = p.Wait()
		// A new store checks the whole file; the old one stays open, as a console does.
		for _, h := range []*store.Store{open(t, dir), s} {
			whole(t, h, m.UID, told)
		}
	}
	t.Logf("%d checkpoints in %d lives", told, rounds)
}

// whole tells whether everything of the last checkpoint is there, and of none beyond it.
func whole(t *testing.T, s *store.Store, uid string, told int64) {
	t.Helper()
	m := must(s.Migration(t.Context(), uid))(t)
	n := m.Version - 1 // checkpoints that are there
	if n != told && n != told+1 {
		t.Fatalf("%d checkpoints are there and %d were told", n, told)
	}
	if m.Status.Attempt != int(n) || m.Status.Disks[0].Copied != n || m.Status.Disks[0].Extents[0].Offset != n {
		t.Fatalf("the status is not of checkpoint %d: %+v", n, m.Status)
	}
	if l := must(s.Lines(t.Context()))(t)[0]; l.Done != n || int64(l.Questions) != n {
		t.Fatalf("the line is not of checkpoint %d: %+v", n, l)
	}
	events := must(s.Events(t.Context(), uid, 0, 1<<30))(t)
	for i, e := range events {
		if e.Message != strconv.Itoa(i+1) {
			t.Fatalf("event %d is of checkpoint %s", i+1, e.Message)
		}
	}
	held := must(s.Held(t.Context(), uid))(t)
	if int64(len(events)) != n || len(held) != 1 || held[0].Name != strconv.FormatInt(n, 10) {
		t.Fatalf("%d events, held %+v after checkpoint %d", len(events), held, n)
	}
	sums := make(map[int64][32]byte)
	for _, c := range must(s.Ledger(uid, 0).Load(t.Context()))(t) {
		sums[c.Index] = c.Sum
	}
	want := make(map[int64][32]byte)
	for i := int64(1); i <= n; i++ {
		for _, c := range batch(i) {
			want[c.Index] = c.Sum
		}
	}
	next := make(map[int64][32]byte) // the batch of a checkpoint that was not reached
	for _, c := range batch(n + 1) {
		next[c.Index] = c.Sum
	}
	reached := sums[batch(n + 1)[0].Index] == batch(n + 1)[0].Sum
	for i, sum := range want {
		if now, ok := next[i]; reached && ok {
			sum = now
		}
		if sums[i] != sum {
			t.Fatalf("chunk %d is not what was recorded", i)
		}
	}
}

// dieAtMark ends the process hard at a mark of a commit.
func dieAtMark(dir string) error {
	s, err := openAs(dir)
	if err != nil {
		return err
	}
	all, err := s.Active(background)
	if err != nil {
		return err
	}
	boundary.Hook = func(k boundary.Kind, name string) {
		fmt.Println(k, name)
		if name == os.Getenv("LANDFALL_MARK") {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	if err := s.Ledger(all[0].UID, 0).Record(background, batch(all[0].Version)); err != nil {
		return err
	}
	_, err = s.Commit(background, step(all[0]))
	return err
}

func TestMarksStandRightAtTheCommit(t *testing.T) {
	for mark, there := range map[string][2]bool{
		"before ledger":               {false, false},
		"after ledger":                {true, false},
		"before checkpoint Preparing": {true, false},
		"after checkpoint Preparing":  {true, true},
	} {
		t.Run(mark, func(t *testing.T) {
			dir := t.TempDir() + "/workspace"
			s := open(t, dir)
			m := applied(t, s, 1)
			p := child(t, "mark", dir, "LANDFALL_MARK="+mark)
			all := p.lines()
			if err := p.Wait(); err == nil || len(all) == 0 || all[len(all)-1] != "store commit "+mark {
				t.Fatalf("the process did not die at the mark: %q, %v, %s", all, err, p.errs)
			}
			chunks := must(s.Ledger(m.UID, 0).Load(t.Context()))(t)
			events := must(s.Events(t.Context(), m.UID, 0, 10))(t)
			if got := [2]bool{len(chunks) == 32, len(events) == 1}; got != there {
				t.Errorf("ledger and checkpoint are there: %v, not %v", got, there)
			}
		})
	}
}
