package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/store/db"
)

// Commit writes a checkpoint in one durable transaction and gives the new version.
func (s *Store) Commit(ctx context.Context, c engine.Checkpoint) (int64, error) {
	m := c.Migration
	op := "commit " + string(m.Status.Phase) + " of " + short(m.UID)
	if _, ok := engine.RowOf(m.Status.Phase); !ok && !m.Status.Phase.Rest() {
		return 0, fault.Newf(fault.Permanent, fault.Refused, "%s: no such phase", op)
	}
	status := m.Status
	status.Disks = slices.Clone(status.Disks)
	areas := make([][]byte, len(status.Disks))
	for i := range status.Disks {
		areas[i], status.Disks[i].Extents = packed(status.Disks[i].Extents), nil
	}
	text, err := encode("status of "+short(m.UID), status)
	if err != nil {
		return 0, err
	}
	err = s.write(ctx, op, "checkpoint "+string(m.Status.Phase), func(q *db.Queries) error {
		if err := s.saveStatus(ctx, q, m, text); err != nil {
			return err
		}
		if err := putExtents(ctx, q, m.UID, areas); err != nil {
			return err
		}
		for _, e := range c.Events {
			if err := s.addEvent(ctx, q, m.UID, e); err != nil {
				return err
			}
		}
		if err := s.hold(ctx, q, m.UID, c.Hold, c.Gone); err != nil {
			return err
		}
		for _, d := range c.Ask {
			if err := s.ask(ctx, q, m.UID, d); err != nil {
				return err
			}
		}
		for _, id := range c.Close {
			if err := s.closeDecision(ctx, q, m.UID, id); err != nil {
				return err
			}
		}
		if err := addRates(ctx, q, c.Rates); err != nil {
			return err
		}
		if m.Status.Phase.Terminal() { // nobody would act on an answer any more
			if err := q.CloseAllDecisions(ctx, db.CloseAllDecisionsParams{Closed: nanos(s.clock()), Migration: m.UID}); err != nil {
				return err
			}
		}
		return q.RaiseFeed(ctx)
	})
	if err != nil {
		return 0, err
	}
	return m.Version + 1, nil
}

func (s *Store) saveStatus(ctx context.Context, q *db.Queries, m engine.Migration, text string) error {
	at, err := q.Standing(ctx, m.UID)
	switch {
	case err != nil:
		return err
	case at.Version != m.Version:
		return fmt.Errorf("%w: version %d was read and %d is there", engine.ErrStale, m.Version, at.Version)
	case at.Ended == 1 && engine.Phase(at.Phase) != m.Status.Phase:
		return fault.Newf(fault.Permanent, fault.Refused, "%w as %s", ErrEnded, at.Phase)
	case at.Generation != m.Generation: // a person changed the document since: its line is of the new one
		if err := decode("document of "+short(m.UID), at.Document, &m.Document); err != nil {
			return err
		}
	}
	l := lineOf(m)
	n, err := q.SaveStatus(ctx, db.SaveStatusParams{
		Moref: l.Ref.MoRef, InstanceUuid: l.Ref.InstanceUUID, Phase: string(l.Phase), Resume: string(l.Resume),
		Ended: integer(l.Phase.Terminal()), NotUntil: nanos(l.NotUntil), Vm: l.VM, Namespace: l.Namespace, Target: l.Target,
		Reason: l.Reason, Message: l.Message, Done: l.Done, Total: l.Total, Rate: l.Rate, Eta: l.ETA, Queue: int64(l.Queue),
		Since: nanos(l.Since), Progress: nanos(l.Progress), AtCreated: nanos(l.Times.Created), AtStarted: nanos(l.Times.Started),
		AtOff: nanos(l.Times.SourcePoweredOff), AtAcquired: nanos(l.Times.DisksAcquired), AtImported: nanos(l.Times.DisksImported),
		AtRunning: nanos(l.Times.VMStarted), AtCompleted: nanos(l.Times.Completed), Status: text, Uid: m.UID, Version: m.Version,
	})
	if taken(err) {
		return another(ctx, q, m.UID, spelt(l.Source), l)
	}
	if err == nil && n != 1 {
		return engine.ErrStale
	}
	if w := l.Warm; err == nil && w != nil {
		err = q.PutWarm(ctx, db.PutWarmParams{Migration: m.UID, Phase: string(w.Phase), Gap: w.Gap, Rounds: int64(w.Rounds), Waiting: w.Waiting})
	}
	return err
}

// another names the migration that has the same VM.
func another(ctx context.Context, q *db.Queries, uid, endpoint string, l engine.Line) error {
	o, err := q.SameVM(ctx, db.SameVMParams{Uid: uid, Endpoint: endpoint, Moref: l.Ref.MoRef, Instance: l.Ref.InstanceUUID})
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fault.Hint(fault.Newf(fault.Blocked, fault.Conflict, "VM %q of %q is being moved by migration %q (%s, %s)",
		l.VM, l.Source, o.Name, short(o.Uid), o.Phase), "wait for that one, or cancel it")
}

func integer(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
