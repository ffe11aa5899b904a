package store

import (
	"context"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/store/db"
)

// CutOver makes the word to stop a warm migration's source a durable want; again is success.
func (s *Store) CutOver(ctx context.Context, uid string, who engine.Person) error {
	return s.write(ctx, "cut over migration "+short(uid), "", func(q *db.Queries) error {
		m, err := running(ctx, q, uid)
		if err != nil {
			return err
		}
		strategy := m.Document.Spec.Strategy
		switch {
		case strategy.Type != "Warm":
			return fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "it is not a warm migration: its source is stopped without a word"), "see its phase with landfall status")
		case m.Want == engine.WantCancel:
			return fault.Newf(fault.Blocked, fault.Refused, "it was cancelled")
		case strategy.Warm.Hold:
			return fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "its cutover is held"), "take the hold back first: landfall hold --off")
		}
		m.Document.Spec.Strategy.Warm.CutOver = true
		document, err := encode("document", m.Document)
		if err != nil {
			return err
		}
		l := lineOf(m)
		if _, err := q.SaveDocument(ctx, db.SaveDocumentParams{
			Name: l.Name, Endpoint: spelt(l.Source), Moref: l.Ref.MoRef, InstanceUuid: l.Ref.InstanceUUID, Vm: l.VM,
			Source: l.Source, Namespace: l.Namespace, Target: l.Target, Document: document, Uid: uid, Generation: m.Generation,
		}); err != nil {
			return err
		}
		return s.audit(ctx, q, who, uid, "gave the word to cut over")
	})
}
