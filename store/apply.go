package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/store/db"
)

// Apply makes a migration of a checked document. A VM that is being moved is refused, with the migration that moves it.
func (s *Store) Apply(ctx context.Context, d spec.Document, who engine.Person) (engine.Migration, error) {
	op := fmt.Sprintf("apply %q", d.Metadata.Name)
	if err := d.Validate(); err != nil {
		return engine.Migration{}, fmt.Errorf("%s: %w", op, err)
	}
	d.Spec.Strategy.Warm.CutOver = false // a word is given to a migration that runs
	id, err := uuid.NewRandomFromReader(s.random)
	if err != nil {
		return engine.Migration{}, fmt.Errorf("%s: draw a UID: %w", op, err)
	}
	now := moment(nanos(s.clock()))
	m := engine.Migration{
		UID: id.String(), Document: d, Generation: 1, Want: engine.WantRun, Created: now, CreatedBy: who.Name, Version: 1,
		Status: engine.Status{Phase: engine.Pending, Progress: now, Times: engine.Times{Created: now}},
	}
	document, err := encode("document", d)
	if err != nil {
		return engine.Migration{}, err
	}
	status, err := encode("status", m.Status)
	if err != nil {
		return engine.Migration{}, err
	}
	err = s.write(ctx, op, "", func(q *db.Queries) error {
		l := lineOf(m)
		if err := another(ctx, q, m.UID, spelt(l.Source), l); err != nil {
			return err
		}
		if err := q.AddMigration(ctx, db.AddMigrationParams{
			Uid: m.UID, Name: l.Name, Generation: m.Generation, Want: string(m.Want), Created: nanos(m.Created),
			CreatedBy: m.CreatedBy, Version: m.Version, Endpoint: spelt(l.Source), Moref: l.Ref.MoRef,
			InstanceUuid: l.Ref.InstanceUUID, Phase: string(l.Phase), Vm: l.VM, Source: l.Source, Namespace: l.Namespace,
			Target: l.Target, Since: nanos(l.Since), Progress: nanos(l.Progress), AtCreated: nanos(l.Times.Created),
			Document: document, Status: status,
		}); err != nil {
			return err
		}
		if _, err := q.ForgetDraft(ctx, engine.DraftKey(d.Spec.Source)); err != nil {
			return err
		}
		if err := s.given(ctx, q, m.UID, d.Spec.Answers, who); err != nil {
			return err
		}
		return s.audit(ctx, q, who, m.UID, fmt.Sprintf("applied %q for VM %q of %q", l.Name, l.VM, l.Source))
	})
	if err != nil {
		return engine.Migration{}, err
	}
	// As it will be read, so that what the caller holds does not share the document.
	return s.Migration(ctx, m.UID)
}

// Change replaces the document of a migration that has not ended. Once its VM was found, it stays that VM's migration.
func (s *Store) Change(ctx context.Context, uid string, generation int64, d spec.Document, who engine.Person) error {
	op := "change migration " + short(uid)
	if err := d.Validate(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if d.Spec.Strategy.Warm.Hold {
		d.Spec.Strategy.Warm.CutOver = false
	}
	document, err := encode("document", d)
	if err != nil {
		return err
	}
	return s.write(ctx, op, "", func(q *db.Queries) error {
		m, err := running(ctx, q, uid)
		if err != nil {
			return err
		}
		if m.Generation != generation {
			return fmt.Errorf("%w: generation %d was read and %d is there", engine.ErrStale, generation, m.Generation)
		}
		was, is := m.Document.Spec.Source, d.Spec.Source
		if m.Status.Inventory != nil && (spelt(was.Address) != spelt(is.Address) || was.VM != is.VM) {
			return fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "it moves VM %q of %q and cannot be turned to another", was.VM.Name, was.Address),
				"apply a document of its own for the other VM")
		}
		m.Document = d
		l := lineOf(m)
		if err := another(ctx, q, uid, spelt(l.Source), l); err != nil {
			return err
		}
		if _, err := q.SaveDocument(ctx, db.SaveDocumentParams{
			Name: l.Name, Endpoint: spelt(l.Source), Moref: l.Ref.MoRef, InstanceUuid: l.Ref.InstanceUUID, Vm: l.VM,
			Source: l.Source, Namespace: l.Namespace, Target: l.Target, Document: document, Uid: uid, Generation: generation,
		}); err != nil {
			return err
		}
		if err := s.given(ctx, q, uid, d.Spec.Answers, who); err != nil {
			return err
		}
		return s.audit(ctx, q, who, uid, fmt.Sprintf("changed the document to generation %d", generation+1))
	})
}

// Cancel makes cancelling a durable want; again is success.
func (s *Store) Cancel(ctx context.Context, uid string, who engine.Person) error {
	return s.write(ctx, "cancel migration "+short(uid), "", func(q *db.Queries) error {
		if _, err := running(ctx, q, uid); err != nil {
			return err
		}
		if _, err := q.SetWant(ctx, db.SetWantParams{Want: string(engine.WantCancel), Uid: uid}); err != nil {
			return err
		}
		return s.audit(ctx, q, who, uid, "cancelled")
	})
}

// RetryNow ends a rest at once.
func (s *Store) RetryNow(ctx context.Context, uid string, who engine.Person) error {
	return s.write(ctx, "retry migration "+short(uid), "", func(q *db.Queries) error {
		if _, err := running(ctx, q, uid); err != nil {
			return err
		}
		if _, err := q.RaiseRetry(ctx, uid); err != nil {
			return err
		}
		return s.audit(ctx, q, who, uid, "asked to retry now")
	})
}

// running gives a migration that people may still act on.
func running(ctx context.Context, q *db.Queries, uid string) (engine.Migration, error) {
	m, err := whole(ctx, q, uid)
	if err != nil {
		return m, err
	}
	if m.Status.Phase.Terminal() {
		return m, fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "%w as %s", ErrEnded, m.Status.Phase), "migrate the VM again for a new migration")
	}
	return m, nil
}
