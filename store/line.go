package store

import (
	"context"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/store/db"
)

// lineOf makes the slim projection that is kept beside the whole migration.
func lineOf(m engine.Migration) engine.Line {
	d, st := m.Document.Spec, m.Status
	l := engine.Line{
		UID: m.UID, Name: m.Name(), VM: d.Source.VM.Name, Source: d.Source.Address, Ref: d.Source.VM.Ref,
		Namespace: d.Destination.Namespace, Target: d.Destination.VMName,
		Phase: st.Phase, Resume: st.Resume, Reason: st.Reason, Message: st.Message, Want: m.Want, Queue: st.Queue,
		Created: m.Created, Since: m.Created, Progress: st.Progress, NotUntil: st.NotUntil, Times: st.Times,
	}
	if vm := st.Inventory; vm != nil {
		if vm.Name != "" {
			l.VM = vm.Name
		}
		l.Ref = merged(l.Ref, vm.Ref)
	}
	if l.VM == "" {
		l.VM = l.Ref.String()
	}
	if p := st.Plan; p != nil {
		l.Namespace, l.Target = p.Namespace, p.Name
	}
	if n := len(st.History); n > 0 {
		l.Since = st.History[n-1].Time
	}
	l.Done, l.Total, l.Rate, l.ETA = moved(st)
	if st.Warm != nil {
		w := st.Warm.Line()
		l.Warm = &w
	}
	return l
}

// merged prefers what was seen to what was written.
func merged(written, seen machine.Ref) machine.Ref {
	if seen.MoRef != "" {
		written.MoRef = seen.MoRef
	}
	if seen.InstanceUUID != "" {
		written.InstanceUUID = seen.InstanceUUID
	}
	return written
}

// moved counts the bytes of the checkpoint that is worked on. eta is 0, unknown, as soon as it is unknown of one disk.
func moved(st engine.Status) (done, total int64, rate, eta float64) {
	at := st.Phase
	if at.Rest() {
		at = st.Resume
	}
	if at != engine.Preparing && at != engine.Importing {
		return 0, 0, 0, 0
	}
	sure := true
	for _, d := range st.Disks {
		d1, t1 := d.Copied, d.ToCopy
		if at == engine.Importing {
			d1, t1 = d.Sent, d.Size
			if d.Artifact != nil {
				t1 = d.Artifact.Length
			}
		}
		done, total, rate = done+d1, total+t1, rate+d.Rate
		if d1 < t1 && d.Rate > 0 && d.ETA <= 0 {
			sure = false
		}
	}
	if sure && rate > 0 && total > done {
		eta = float64(total-done) / rate
	}
	return done, total, rate, eta
}

// spelt gives a source's address in one spelling, so that the same endpoint is known as the same.
func spelt(address string) string { return spec.Spelt(address) }

// Lines gives every migration, slim, newest first.
func (s *Store) Lines(ctx context.Context) (lines []engine.Line, err error) {
	err = s.read(ctx, "list migrations", func(q *db.Queries) error {
		rows, err := q.Lines(ctx)
		if err != nil {
			return err
		}
		lines = make([]engine.Line, len(rows))
		for i, r := range rows {
			lines[i] = engine.Line{
				UID: r.Uid, Name: r.Name, VM: r.Vm, Source: r.Source,
				Ref:       machine.Ref{MoRef: r.Moref, InstanceUUID: r.InstanceUuid},
				Namespace: r.Namespace, Target: r.Target, Phase: engine.Phase(r.Phase), Resume: engine.Phase(r.Resume),
				Reason: r.Reason, Message: r.Message, Want: engine.Want(r.Want), Done: r.Done, Total: r.Total,
				Rate: r.Rate, ETA: r.Eta, Queue: int(r.Queue), Questions: int(r.Questions), Created: moment(r.Created),
				Since: moment(r.Since), Progress: moment(r.Progress), NotUntil: moment(r.NotUntil),
				Times: engine.Times{
					Created: moment(r.AtCreated), Started: moment(r.AtStarted), SourcePoweredOff: moment(r.AtOff),
					DisksAcquired: moment(r.AtAcquired), DisksImported: moment(r.AtImported),
					VMStarted: moment(r.AtRunning), Completed: moment(r.AtCompleted),
				},
			}
			if r.WarmPhase != "" {
				lines[i].Warm = &warm.Line{Phase: warm.CoordinatorPhase(r.WarmPhase), Gap: r.Gap, Rounds: int(r.Rounds), Waiting: r.Waiting}
			}
		}
		return nil
	})
	return lines, err
}
