package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/engine/transfer"
	"landfall/targets"
)

// importing has every disk in a volume of the cluster.
type importing struct{}

// importMove is what is done next about one volume.
type importMove struct {
	disk int
	do   string // create, mark, deliver, remove
}

// ackPatience is how long a volume may still call itself ready after it acknowledged the whole image.
const ackPatience = 2 * time.Minute

// maxRestarts is after how many restarts of CDI's importer its error is believed.
const maxRestarts = 3

func (importing) observe(ctx context.Context, t *turn) (Observation, error) {
	st := &t.m.Status
	target, err := t.target(ctx)
	if err != nil {
		return Observation{}, err
	}
	if err := t.plan(ctx, target); err != nil {
		return Observation{}, err
	}
	var moves []importMove
	done := 0
	seen := ""
	for i := range st.Disks {
		o, err := t.seeVolume(ctx, target, i)
		switch {
		case err != nil:
			return Observation{}, fmt.Errorf("volume %s: %w", st.Plan.Volumes[i].Name, err)
		case o.Sight == Foreign:
			return o, nil
		case o.Sight == Complete:
			done++
		case o.next != nil:
			moves = append(moves, o.next.(importMove))
			fallthrough
		default:
			seen = o.Seen
		}
	}
	switch {
	case done == len(st.Disks):
		once(&st.Times.DisksImported, t.now)
		t.condition(DiskImported, true, "Succeeded", fmt.Sprintf("%d volumes", done))
		return Observation{Sight: Complete, Seen: "every volume has Succeeded with what was prepared"}, nil
	case len(moves) > 0:
		return Observation{Sight: Partial, Seen: seen, next: moves}, nil
	}
	return Observation{Sight: Running, Seen: seen, again: t.watch("deliver")}, nil
}

// watch is how soon to look again: often while our own work of a kind moves bytes.
func (t *turn) watch(what string) (again time.Duration) {
	for i := range t.m.Status.Disks {
		if t.e.jobs.running(t.jobKey(what, i)) {
			return watchEvery
		}
	}
	return 0
}

// plan renders what is to be made, once; the frozen inventory and options decide it, so that every retry renders the same.
func (t *turn) plan(ctx context.Context, target targets.Target) error {
	st := &t.m.Status
	if st.Plan == nil {
		c := t.candidate(*st.Inventory)
		facts, err := target.Facts(ctx, c.question())
		if err != nil {
			return err
		}
		in := c.input(facts)
		for _, d := range st.Disks {
			in.Digests, in.Formats = append(in.Digests, d.Artifact.Digest), append(in.Formats, d.Artifact.Format)
		}
		p, err := target.Render(in)
		if err != nil {
			return err
		}
		if len(p.Volumes) != len(st.Disks) {
			return fault.Newf(fault.Permanent, "Render", "render: %d volumes for %d disks", len(p.Volumes), len(st.Disks))
		}
		st.Plan = &p
	}
	for i, d := range st.Disks { // a plan that was made before there was an image
		if v := &st.Plan.Volumes[i]; v.Digest == "" && d.Artifact != nil {
			v.Digest, v.Format = d.Artifact.Digest, d.Artifact.Format
		}
	}
	if t.options().Strategy.Delivery == spec.DeliverHTTP {
		return t.offer(ctx)
	}
	return nil
}

// offer serves the artifacts that are not imported yet.
func (t *turn) offer(ctx context.Context) error {
	st := &t.m.Status
	for i := range st.Disks {
		if st.Disks[i].Imported {
			continue
		}
		pull, err := t.e.serving.offer(ctx, t.options().Destination.ServeAddress, t.jobKey("serve", i), t.opener(i))
		if err != nil {
			return fmt.Errorf("serve disk %d on %s: %w", i, t.options().Destination.ServeAddress, err)
		}
		st.Plan.Volumes[i].Pull = pull
	}
	return nil
}

// seeVolume looks at one disk's volume and says what is to be done about it.
func (t *turn) seeVolume(ctx context.Context, target targets.Target, i int) (Observation, error) {
	d, v := &t.m.Status.Disks[i], t.m.Status.Plan.Volumes[i]
	key := t.jobKey("deliver", i)
	t.e.jobs.with(key, func(state any) { d.Sent = state.(*atomic.Int64).Load() })
	if _, ok, err := t.e.jobs.take(key); err != nil {
		return Observation{}, err
	} else if ok {
		d.Delivered, d.Sent = d.Artifact.Digest, d.Artifact.Length
		t.event("info", "Delivered", "disk %d: all of %s was sent and acknowledged", i, d.Artifact.Digest)
	}
	s, err := target.Volume(ctx, t.owner(), v)
	if err != nil {
		return Observation{}, err
	}
	d.VolumePhase = s.Phase
	pull := t.options().Strategy.Delivery == spec.DeliverHTTP
	move := func(do, seen string) (Observation, error) {
		return Observation{Sight: Partial, Seen: v.Name + ": " + seen, next: importMove{i, do}}, nil
	}
	switch {
	case !s.Exists:
		d.Imported = false
		return move("create", "is not there")
	case !s.Ours:
		return Observation{Sight: Foreign, Seen: v.Name + " is not ours", Questions: []Question{foreign("volume", v.Name, "")}}, nil
	case s.Deleting: // by us, or under us; then it is made anew
		return Observation{Sight: Running, Seen: v.Name + " is being deleted; what uses it has to end first"}, nil
	case s.Digest != "" && s.Digest != d.Artifact.Digest, !s.Matches:
		return move("remove", fmt.Sprintf("was made for something else %v", s.Diff))
	case t.e.jobs.running(key):
		return Observation{Sight: Running, Seen: v.Name + ": sending", again: watchEvery}, nil
	case s.Digest == "" && v.Digest != "" && !d.Unmarked:
		return move("mark", "was made before its digest was known")
	case s.Done && (pull || d.Delivered == d.Artifact.Digest):
		if !d.Imported {
			d.Imported = true
			t.event("info", "DiskImported", "disk %d: volume %s has Succeeded", i, v.Name)
			t.e.serving.withdraw(t.jobKey("serve", i))
		}
		return Observation{Sight: Complete, Seen: v.Name + " has Succeeded"}, nil
	case s.Done:
		return move("remove", "has Succeeded without our having sent all of it")
	case pull && d.Authority != authority(v.Pull):
		return move("remove", "was to be fetched from an engine that is gone")
	case d.Replace: // before what it shows of the try that failed, or it would fail of that for ever
		return move("remove", "is replaced")
	case s.TooSmall:
		t.replaced(i)
		return Observation{}, fault.Hint(fault.Newf(fault.Blocked, fault.NoSpace, "volume %s: %s", v.Name, s.Waiting),
			"the volume is smaller than the image: choose a larger claim or volumeMode Block, then retry")
	case s.Failed:
		t.replaced(i)
		return Observation{}, fault.Newf(fault.Transient, "VolumeFailed", "%s: %s", s.Phase, s.Waiting)
	case pull && s.Restarts >= maxRestarts:
		t.replaced(i)
		return Observation{}, fault.Hint(fault.Newf(fault.Transient, "ImporterRestarts", "CDI's importer restarted %d times: %s", s.Restarts, s.Waiting),
			"is %s reachable from the cluster?", t.options().Destination.ServeAddress)
	case s.Ready && d.Delivered != "" && t.now.Sub(t.m.Status.Progress) > ackPatience:
		d.Delivered = ""
		return move("deliver", "acknowledged the image and still waits for one")
	case s.Ready && d.Delivered == "":
		return move("deliver", "takes the image")
	}
	return Observation{Sight: Running, Seen: fmt.Sprintf("%s: %s %s %s", v.Name, s.Phase, s.Progress, s.Waiting)}, nil
}

// replaced marks a volume to be deleted and made anew.
func (t *turn) replaced(i int) { t.m.Status.Disks[i].Replace = true }

func foreign(what, name, diff string) Question {
	return Question{Kind: "foreign", Subject: what + " " + name, Value: diff,
		Question: fmt.Sprintf("The %s %s exists and was not made by this migration.", what, name),
		Why:      "What is not ours is never changed or deleted. " + diff,
		Options: []Option{
			{ID: "again", Label: "Look again", Effect: "after you have renamed or removed it yourself"},
			{ID: cancelAnswer, Label: "Cancel the migration", Effect: "what was made so far is removed; the source disk is untouched", Dangerous: true},
		}}
}

func (importing) act(ctx context.Context, t *turn, o Observation) error {
	target, err := t.target(ctx)
	if err != nil {
		return err
	}
	moves := o.next.([]importMove)
	for _, m := range moves {
		if m.do == "create" {
			v := t.m.Status.Plan.Volumes[m.disk]
			t.m.Status.Disks[m.disk].Volume = v.Name
			for _, r := range target.Makes(t.owner(), v) {
				t.holdRef(r, r.Kind == "datavolume")
			}
		}
	}
	if err := t.record(ctx); err != nil {
		return err
	}
	for _, m := range moves {
		v, d := t.m.Status.Plan.Volumes[m.disk], &t.m.Status.Disks[m.disk]
		switch m.do {
		case "create":
			d.Delivered, d.Sent, d.Replace = "", 0, false
			if v.Pull != nil {
				d.Authority = authority(v.Pull)
			}
			err = target.CreateVolume(ctx, t.owner(), v)
		case "remove":
			for _, r := range target.Makes(t.owner(), v) {
				if err = target.Remove(ctx, t.owner(), r); err != nil {
					break
				}
			}
		case "mark":
			err = t.markVolume(ctx, target, v, d)
		case "deliver":
			t.deliver(target, m.disk)
		}
		if err != nil {
			return fmt.Errorf("%s volume %s: %w", m.do, v.Name, err)
		}
	}
	return nil
}

// deliver sends an artifact into its volume.
func (t *turn) deliver(target targets.Target, i int) {
	owner, v, sent, open := t.owner(), t.m.Status.Plan.Volumes[i], new(atomic.Int64), t.opener(i)
	t.e.jobs.start(t.jobKey("deliver", i), sent, func(ctx context.Context) (any, error) {
		a, err := open(ctx)
		if err != nil {
			return nil, err
		}
		defer a.Close()
		return nil, target.Deliver(ctx, owner, v, a, func(n int64) { sent.Store(n) })
	}, t.r.wake)
}

// opener opens what is delivered for a disk; it outlives the turn.
func (t *turn) opener(i int) func(context.Context) (Delivery, error) {
	e, uid, size, a := t.e, t.m.UID, t.m.Status.Disks[i].Size, *t.m.Status.Disks[i].Artifact
	return func(ctx context.Context) (Delivery, error) {
		if a.Format == "raw" {
			return transfer.OpenArtifact(ctx, nil, a.Path, size, e.Store.Ledger(uid, i))
		}
		return e.Convert.Open(ctx, a, size)
	}
}
