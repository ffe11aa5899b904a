package store

import (
	"context"
	"fmt"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/store/db"
)

// Look has the engine look at documents. A document that was asked about before keeps its old preview until the new one is
// there.
func (s *Store) Look(ctx context.Context, ds []spec.Document, who engine.Person) error {
	texts := make([]string, len(ds))
	for i, d := range ds {
		var err error
		if src := d.Spec.Source; src.Address == "" || src.VM.Zero() && src.VM.Name == "" {
			return fault.Newf(fault.Blocked, fault.Refused, "look at document %d (%q): it names no VM of a source", i+1, d.Metadata.Name)
		}
		if texts[i], err = encode("document", d); err != nil {
			return err
		}
	}
	return s.write(ctx, "look at drafts", "", func(q *db.Queries) error {
		now := nanos(s.clock())
		for i, d := range ds {
			if err := q.PutDraft(ctx, db.PutDraftParams{Key: engine.DraftKey(d.Spec.Source), Asked: now, Document: texts[i]}); err != nil {
				return err
			}
		}
		return s.audit(ctx, q, who, "", fmt.Sprintf("asked to look at %d drafts", len(ds)))
	})
}

// Drafts gives every draft, in the order of their keys.
func (s *Store) Drafts(ctx context.Context) (all []engine.Draft, err error) {
	err = s.read(ctx, "read drafts", func(q *db.Queries) error {
		rows, err := q.Drafts(ctx)
		if err != nil {
			return err
		}
		all = make([]engine.Draft, len(rows))
		for i, r := range rows {
			d := &all[i]
			d.Key, d.Asked = r.Key, moment(r.Asked)
			if err := decode("document of draft "+r.Key, r.Document, &d.Document); err != nil {
				return err
			}
			if r.Preview == "" {
				continue
			}
			if err := decode("preview of draft "+r.Key, r.Preview, &d.Preview); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// PutPreview records what was found for a draft, unless it was asked anew or forgotten meanwhile.
func (s *Store) PutPreview(ctx context.Context, key string, p engine.Preview) error {
	op := "put the preview of draft " + key
	text, err := encode("preview", p)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return s.write(ctx, op, "", func(q *db.Queries) error {
		asked, err := q.DraftAsked(ctx, key)
		switch {
		case err != nil:
			return err
		case asked != nanos(p.Asked):
			return engine.ErrStale
		}
		return raised(ctx, q, q.PutPreview(ctx, db.PutPreviewParams{Preview: text, Key: key}))
	})
}

// Forget drops drafts; one that is not there is success.
func (s *Store) Forget(ctx context.Context, keys []string, who engine.Person) error {
	return s.write(ctx, "forget drafts", "", func(q *db.Queries) error {
		var n int64
		for _, k := range keys {
			gone, err := q.ForgetDraft(ctx, k)
			if err != nil {
				return err
			}
			n += gone
		}
		if n == 0 {
			return nil
		}
		return s.audit(ctx, q, who, "", fmt.Sprintf("forgot %d drafts", n))
	})
}
