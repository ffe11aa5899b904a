package store

import (
	"context"
	"fmt"
	"slices"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/store/db"
)

// given records the answers of a document as decisions of who gives it, each once: what was answered, to which value, by whom,
// from where and when.
func (s *Store) given(ctx context.Context, q *db.Queries, uid string, answers []spec.Answer, who engine.Person) error {
	if len(answers) == 0 {
		return nil
	}
	rows, err := q.Decisions(ctx, uid)
	if err != nil {
		return err
	}
	there, err := questions(rows)
	if err != nil {
		return err
	}
	for _, a := range answers {
		d := engine.GivenAnswer(uid, a)
		if slices.ContainsFunc(there, func(o engine.Decision) bool {
			return o.Given() && o.Subject == d.Subject && o.Value == d.Value && o.Answer == d.Answer
		}) {
			continue
		}
		d.ID = fmt.Sprintf("%s/%s/%s/given/%d", uid, d.Kind, d.Subject, len(there))
		now := nanos(s.clock())
		if err := q.AskDecision(ctx, db.AskDecisionParams{ID: d.ID, Migration: uid, Kind: d.Kind, Subject: d.Subject,
			Phase: string(engine.Validated), Question: d.Question, Why: d.Why, Value: d.Value, Options: "null", Opened: now}); err != nil {
			return err
		}
		if _, err := q.AnswerDecision(ctx, db.AnswerDecisionParams{Answer: d.Answer, ByName: who.Name, ByFrom: who.From, Answered: now, ID: d.ID, Version: 1}); err != nil {
			return err
		}
		if err := s.audit(ctx, q, who, uid, fmt.Sprintf("answered %q to %s, found %q, with the document", d.Answer, d.Subject, d.Value)); err != nil {
			return err
		}
		there = append(there, engine.Decision{ID: d.ID, Kind: d.Kind, Subject: d.Subject, Value: d.Value, Answer: d.Answer})
	}
	return nil
}
