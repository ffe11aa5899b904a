package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/store/db"
)

// Decisions gives all decisions of a migration, oldest first.
func (s *Store) Decisions(ctx context.Context, uid string) (all []engine.Decision, err error) {
	err = s.read(ctx, "read decisions of "+short(uid), func(q *db.Queries) error {
		rows, err := q.Decisions(ctx, uid)
		if err == nil {
			all, err = questions(rows)
		}
		return err
	})
	return all, err
}

// Waiting gives all open decisions, oldest first.
func (s *Store) Waiting(ctx context.Context) (all []engine.Decision, err error) {
	err = s.read(ctx, "read open decisions", func(q *db.Queries) error {
		rows, err := q.Waiting(ctx)
		if err == nil {
			all, err = questions(rows)
		}
		return err
	})
	return all, err
}

// Answer takes a decision once. The answer and its audit are one transaction; with engine.ErrStale the decision says how
// it stands now.
func (s *Store) Answer(ctx context.Context, id string, version int64, option string, who engine.Person) (d engine.Decision, err error) {
	err = s.write(ctx, "answer decision "+id, "", func(q *db.Queries) error {
		row, err := q.Decision(ctx, id)
		if err != nil {
			return err
		}
		if d, err = question(row); err != nil {
			return err
		}
		switch {
		case d.Answer != "":
			return fmt.Errorf("%w: %q took it from %q at %s: %q", engine.ErrStale, d.By, d.From, d.AnsweredAt.Format("2006-01-02 15:04:05Z"), d.Answer)
		case !d.Open():
			return fmt.Errorf("%w: the question fell away at %s", engine.ErrStale, d.Closed.Format("2006-01-02 15:04:05Z"))
		case d.Version != version:
			return fmt.Errorf("%w: version %d was read and %d is there", engine.ErrStale, version, d.Version)
		case !slices.ContainsFunc(d.Options, func(o engine.Option) bool { return o.ID == option }) || option == "":
			return fault.Newf(fault.Blocked, fault.Refused, "%q is not one of its options: %s", option, names(d.Options))
		}
		now := nanos(s.clock())
		n, err := q.AnswerDecision(ctx, db.AnswerDecisionParams{
			Answer: option, ByName: who.Name, ByFrom: who.From, Answered: now, ID: id, Version: version,
		})
		if err != nil {
			return err
		}
		if n != 1 {
			return engine.ErrStale
		}
		d.Answer, d.By, d.From, d.AnsweredAt, d.Version = option, who.Name, who.From, moment(now), version+1
		return s.audit(ctx, q, who, d.Migration, fmt.Sprintf("answered %q to %q (%s)", option, d.Question, d.Subject))
	})
	return d, err
}

// ask opens a decision; the same again changes nothing.
func (s *Store) ask(ctx context.Context, q *db.Queries, uid string, d engine.Decision) error {
	there, err := q.Decision(ctx, d.ID)
	switch {
	case err == nil && there.Migration == uid:
		return nil
	case err == nil:
		return fault.Newf(fault.Permanent, fault.Refused, "decision %q is of another migration", d.ID)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	options, err := encode("options of "+d.ID, d.Options)
	if err != nil {
		return err
	}
	return q.AskDecision(ctx, db.AskDecisionParams{
		ID: d.ID, Migration: uid, Kind: d.Kind, Subject: d.Subject, Phase: string(d.Phase), Question: d.Question,
		Why: d.Why, Value: d.Value, Options: options, Opened: s.or(d.Opened),
	})
}

func (s *Store) closeDecision(ctx context.Context, q *db.Queries, uid, id string) error {
	there, err := q.Decision(ctx, id)
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && there.Migration != uid:
		return fmt.Errorf("decision %q: %w", id, engine.ErrNotFound)
	case err != nil:
		return err
	}
	return q.CloseDecision(ctx, db.CloseDecisionParams{Closed: nanos(s.clock()), ID: id})
}

func questions(rows []db.Decision) ([]engine.Decision, error) {
	all := make([]engine.Decision, len(rows))
	for i, r := range rows {
		var err error
		if all[i], err = question(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func question(r db.Decision) (engine.Decision, error) {
	d := engine.Decision{
		ID: r.ID, Migration: r.Migration, Kind: r.Kind, Subject: r.Subject, Phase: engine.Phase(r.Phase),
		Question: r.Question, Why: r.Why, Value: r.Value, Opened: moment(r.Opened), Version: r.Version,
		Answer: r.Answer, By: r.ByName, From: r.ByFrom, AnsweredAt: moment(r.Answered), Closed: moment(r.Closed),
	}
	return d, decode("options of "+r.ID, r.Options, &d.Options)
}

func names(options []engine.Option) string {
	ids := make([]string, len(options))
	for i, o := range options {
		ids[i] = fmt.Sprintf("%q", o.ID)
	}
	return strings.Join(ids, ", ")
}
