package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/engine/spec"
	"landfall/store"
	"landfall/targets/kubesim"
	"landfall/ui/cli/demo"
)

// story plays the demo without a terminal and says what it proved.
type story struct {
	a    *app
	s    *store.Store
	w    demo.World
	said map[string]*told            // by migration
	done map[string]engine.Migration // that were proved, by the name of the VM
}

// scriptPatience bounds each wait of the story.
const scriptPatience = 3 * time.Minute

func (a *app) playScript(ctx context.Context, w demo.World) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	p := story{a, s, w, map[string]*told{}, map[string]engine.Migration{}}
	list, err := a.inventory(ctx, s, true)
	if err != nil {
		return err
	}
	endpoints, err := s.Endpoints(ctx)
	if err != nil {
		return err
	}
	p.say("The host has %d VMs:", len(list))
	for _, l := range list {
		v, _ := verdict(endpoints, l)
		p.say("  %-28s %-4s %s", plaintext.Label(l.VM.Name), l.VM.Power, v)
	}
	for _, chapter := range []func(context.Context, []engine.Listed) error{p.fine, p.refusing, p.threeDisks, p.blocked, p.running} {
		if err := chapter(ctx, list); err != nil {
			return err
		}
	}
	p.say("\nThe story is told. landfall demo opens the console on it; landfall demo --reset forgets it.")
	return nil
}

func (p story) say(format string, args ...any) { fmt.Fprintf(p.a.Out, format+"\n", args...) }

// fine migrates a VM whose guest shuts down by itself, and kills the engine in the middle of the copy.
func (p story) fine(ctx context.Context, list []engine.Listed) error {
	p.say("\n1. web-01: its guest obeys; the engine is killed in the middle of the copy")
	m, err := p.start(ctx, list, "web-01", nil)
	if err != nil {
		return err
	}
	if m, err = p.until(ctx, m.UID, func(m engine.Migration) bool {
		return m.Status.Has(engine.DiskAcquired) || (len(m.Status.Disks) > 0 && m.Status.Disks[0].Copied > 0)
	}, engine.Preparing); err != nil {
		return err
	}
	if err := p.kill(ctx, m); err != nil {
		return err
	}
	if m, err = p.ended(ctx, m.UID, engine.Completed); err != nil {
		return err
	}
	return p.prove(ctx, m)
}

// kill ends the engine as a power cut would, and starts it again.
func (p story) kill(ctx context.Context, m engine.Migration) error {
	h, runs := store.EngineHolder(p.a.workspace)
	if !runs || h.PID == 0 {
		return errors.New("the engine ended by itself")
	}
	if err := syscall.Kill(h.PID, syscall.SIGKILL); err != nil {
		return err
	}
	p.say("   kill -9 of the engine (process %d) with %s of the disk accounted for", h.PID, bytesText(m.Status.Disks[0].Copied))
	for store.EngineAlive(p.a.workspace) {
		time.Sleep(10 * time.Millisecond)
	}
	return p.a.startEngine(ctx)
}

// refusing migrates a VM whose guest does not shut down, and takes the decision that a person would.
func (p story) refusing(ctx context.Context, list []engine.Listed) error {
	p.say("\n2. DB primary: its guest refuses to shut down; a person decides")
	m, err := p.start(ctx, list, "DB primary", nil)
	if err != nil {
		return err
	}
	var asked engine.Decision
	for deadline := time.Now().Add(scriptPatience); asked.ID == ""; {
		ds, err := p.s.Decisions(ctx, m.UID)
		if err != nil {
			return err
		}
		for _, d := range ds {
			if d.Open() && d.Kind == "power-off" {
				asked = d
			}
		}
		if time.Now().After(deadline) {
			return errors.New("the engine never asked about the power-off")
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.say("   asked: %s %s", plaintext.Label(asked.Question), plaintext.Label(asked.Why))
	if _, err := p.s.Answer(ctx, asked.ID, asked.Version, "hard", p.a.person()); err != nil {
		return err
	}
	p.say("   answered: hard power-off")
	if m, err = p.ended(ctx, m.UID, engine.Completed); err != nil {
		return err
	}
	return p.prove(ctx, m)
}

func (p story) threeDisks(ctx context.Context, list []engine.Listed) error {
	p.say("\n3. files-01: three disks on two controllers, already off")
	m, err := p.start(ctx, list, "files-01", nil)
	if err == nil {
		m, err = p.ended(ctx, m.UID, engine.Completed)
	}
	if err != nil {
		return err
	}
	return p.prove(ctx, m)
}

// blocked starts what cannot go on, and shows that nothing was touched.
func (p story) blocked(ctx context.Context, list []engine.Listed) error {
	p.say("\n4. legacy, dmz-gw and mail cannot be migrated as they are")
	for _, name := range []string{"legacy", "dmz-gw", "mail"} {
		m, err := p.start(ctx, list, name, nil)
		if err != nil {
			return err
		}
		if m, err = p.until(ctx, m.UID, func(m engine.Migration) bool { return m.Status.Phase == engine.ManualInterventionRequired }, engine.Cancelled); err != nil {
			return err
		}
		p.say("   %s: %s", name, plaintext.Label(m.Status.Message))
		if err := p.s.Cancel(ctx, m.UID, p.a.person()); err != nil {
			return err
		}
		if m, err = p.ended(ctx, m.UID, engine.Cancelled); err != nil {
			return err
		}
		p.say("     cancelled; %d things left behind", len(m.Status.Left))
	}
	return nil
}

func (p story) start(ctx context.Context, list []engine.Listed, name string, change func(*spec.Document)) (engine.Migration, error) {
	vms, err := pick(list, []string{name})
	if err != nil {
		return engine.Migration{}, err
	}
	d := documentFor(endpointOf(p.w), vms[0])
	if change != nil {
		change(&d)
	}
	m, err := p.s.Apply(ctx, d, p.a.person())
	if err != nil {
		return m, err
	}
	return m, p.a.startEngine(ctx)
}

func (p story) ended(ctx context.Context, uid string, want engine.Phase) (engine.Migration, error) {
	m, err := p.until(ctx, uid, func(m engine.Migration) bool { return m.Status.Phase.Terminal() }, want)
	if err == nil && m.Status.Phase != want {
		err = fmt.Errorf("migration %s ended %s, not %s: %s", m.Name(), m.Status.Phase, want, m.Status.Message)
	}
	return m, err
}

// told counts what was said of a migration.
type told struct{ phases, changes, rounds int }

// tell says what is new of a migration, in the order in which it happened.
func (p story) tell(m engine.Migration) {
	said := p.said[m.UID]
	if said == nil {
		said = &told{}
		p.said[m.UID] = said
	}
	news := said.warm(m.Status.Warm)
	for _, t := range m.Status.History[min(said.phases, len(m.Status.History)):] {
		news = append(news, line{t.Time, fmt.Sprintf("%s → %s", t.From, t.To)})
		said.phases++
	}
	slices.SortStableFunc(news, func(a, b line) int { return a.at.Compare(b.at) })
	for _, l := range news {
		p.say("   %s %s", l.at.Local().Format("15:04:05.0"), l.text)
	}
}

// line is something that happened.
type line struct {
	at   time.Time
	text string
}

// until waits for a condition and says each phase on the way. A rest for a person that nobody expects ends it.
func (p story) until(ctx context.Context, uid string, done func(engine.Migration) bool, want engine.Phase) (engine.Migration, error) {
	for deadline := time.Now().Add(scriptPatience); ; {
		m, err := p.s.Migration(ctx, uid)
		if err != nil {
			return m, err
		}
		p.tell(m)
		switch {
		case done(m):
			return m, nil
		case want == engine.Completed && m.Status.Phase == engine.ManualInterventionRequired && m.Status.Reason != "Decision":
			return m, fmt.Errorf("migration %s waits for a person on the way to %s: %s", m.Name(), want, m.Status.Message)
		case time.Now().After(deadline):
			return m, fmt.Errorf("migration %s is still %s (%s) after %s", m.Name(), m.Status.Phase, m.Status.Seen, scriptPatience)
		}
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// prove compares what is on the host with what arrived, outside the engine.
func (p story) prove(ctx context.Context, m engine.Migration) error {
	counters, err := p.w.Host.Client().Counters(ctx)
	if err != nil {
		return err
	}
	for i, d := range m.Status.Disks {
		sum, err := p.equal(ctx, m, i)
		if err != nil {
			return err
		}
		f := counters.Extents(m.Status.Inventory.Ref.InstanceUUID)[i]
		read := fmt.Sprintf("%s of %s read, %s of it twice", bytesText(f.Bytes), bytesText(d.Size), bytesText(f.Twice()))
		if m.Status.Warm != nil {
			read = fmt.Sprintf("%s of %s read while it was off", bytesText(f.Bytes), bytesText(d.Size))
		}
		p.say("   disk %d: SHA-256 %s on the host and in the cluster; %s", i, sum, read)
	}
	for _, c := range m.Status.Checks {
		p.say("   check %s: %s", c.Check.Type, plaintext.Label(c.Detail))
	}
	if d, _, ok := m.Status.Times.Downtime(time.Now()); ok {
		p.say("   downtime, source off to instance running: %s", d.Round(100*time.Millisecond))
	}
	p.say("   report: landfall --workspace %s report %s", p.a.workspace, m.UID[:8])
	p.done[m.Status.Inventory.Name] = m
	return nil
}

// equal gives the SHA-256 of a disk on the host, if its volume has the same.
func (p story) equal(ctx context.Context, m engine.Migration, disk int) (string, error) {
	source, err := p.w.Host.Client().Digest(ctx, m.Status.Inventory.Ref.InstanceUUID, disk)
	if err != nil {
		return "", err
	}
	volumes, err := kubesim.Dial(p.w.Cluster.Control, p.w.Cluster.ControlToken).Volumes(ctx)
	if err != nil {
		return "", err
	}
	d, arrived := m.Status.Disks[disk], ""
	for _, v := range volumes {
		if v.Namespace == demo.Namespace && v.Claim == d.Volume {
			if arrived, err = fileSHA256(v.Path, d.Size); err != nil {
				return "", err
			}
		}
	}
	if source != arrived {
		return "", fmt.Errorf("disk %d of %s: SHA-256 %s on the host, %q in the cluster", disk, m.Name(), source, arrived)
	}
	return source, nil
}

// fileSHA256 hashes the first size bytes of a file, as the disk that it holds.
func fileSHA256(path string, size int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, size))
	if err != nil {
		return "", err
	}
	if _, err := io.CopyN(h, zeros{}, size-n); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
