package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"landfall/engine/boundary"
	"landfall/engine/fault"
	"landfall/targets"
)

// Kinds of held things that are not in the cluster.
const (
	heldFile  = "staging"
	heldPower = "power"
	// heldSnapshot and heldSwitch are on the source: a snapshot of ours, and change tracking that is to be switched off again.
	heldSnapshot = "snapshot"
	heldSwitch   = "change-tracking-on"
)

func (h Held) ref() targets.Ref { return targets.Ref{Kind: h.Kind, Namespace: h.Where, Name: h.Name} }

// String names the thing for people.
func (h Held) String() string { return fmt.Sprintf("%s %s", h.Kind, filepath.Join(h.Where, h.Name)) }

// holdRef writes down a thing in the cluster before it is made.
func (t *turn) holdRef(r targets.Ref, keep bool) {
	t.hold = append(t.hold, Held{Migration: t.m.UID, Kind: r.Kind, Where: r.Namespace, Name: r.Name, Since: t.now, Keep: keep})
}

// holdStaging writes down the folder of the migration's images.
func (t *turn) holdStaging() {
	t.hold = append(t.hold, Held{Migration: t.m.UID, Kind: heldFile, Where: t.e.Staging, Name: t.m.UID, Since: t.now})
}

// record commits what was written down so far, so that it is on disk before the act that follows.
func (t *turn) record(ctx context.Context) error {
	_, err := t.commit(ctx, 0)
	return err
}

// release removes a held thing and tells whether it is seen gone. "Not there" is success.
func (e *Engine) release(ctx context.Context, m Migration, h Held) (gone bool, err error) {
	switch h.Kind {
	case heldFile:
		if err := e.removeStaging(h); err != nil {
			return false, err
		}
		for i := range m.Status.Disks { // what the ledger vouched for is gone
			if err := e.Store.ResetLedger(ctx, m.UID, i); err != nil {
				return false, err
			}
		}
		return true, nil
	case heldPower, heldNamespace, heldTracking:
		return false, nil // for a person to take back
	case heldSnapshot:
		return e.removeSnapshots(ctx, m, h.Name)
	case heldSwitch:
		return e.restoreTracking(ctx, m)
	}
	o := m.options()
	target, err := e.targets.get(ctx, o.Destination)
	if err != nil {
		return false, err
	}
	owner := targets.Owner{UID: m.UID, Name: m.Name(), Namespace: o.Destination.Namespace}
	if err := target.Remove(ctx, owner, h.ref()); err != nil {
		if fault.Is(err, fault.NotOurs) {
			return true, nil // what is there was not made by us: there is nothing of ours
		}
		return false, err
	}
	there, err := target.Present(ctx, owner, h.ref())
	if fault.Is(err, fault.NotOurs) {
		return true, nil
	}
	return err == nil && !there, err
}

func (e *Engine) removeStaging(h Held) error {
	// The name is a UID that we made; a damaged row must not lead anywhere else.
	if h.Name == "" || h.Name != filepath.Base(h.Name) || h.Where != e.Staging {
		return fault.Newf(fault.Blocked, "NotOurs", "staging %q is not a folder of this workspace", h.Name)
	}
	boundary.Cross(boundary.Rename, "remove staging")
	err := os.RemoveAll(filepath.Join(h.Where, h.Name))
	boundary.Cross(boundary.Rename, "staging removed")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// cleanUp releases what is held, newest first, and gives what is left. What is seen gone is struck off. keep decides what
// is a result and stays.
func (t *turn) cleanUp(ctx context.Context, keep func(Held) bool) (left []Held, err error) {
	held, err := t.e.Store.Held(ctx, t.m.UID)
	if err != nil {
		return nil, err
	}
	var errs []error
	for i := len(held) - 1; i >= 0; i-- {
		h := held[i]
		if keep(h) {
			continue
		}
		gone, err := t.e.release(ctx, t.m, h)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("remove %s: %w", h, err))
			fallthrough
		case !gone:
			left = append(left, h)
		default:
			t.gone = append(t.gone, h)
		}
	}
	return left, errors.Join(errs...)
}

// Leftover gives what an ended migration still holds and what is not its result.
func Leftover(ctx context.Context, s Store, m Migration) ([]Held, error) {
	t := turn{m: m}
	held, err := s.Held(ctx, m.UID)
	var left []Held
	for _, h := range held {
		if !(h.Keep && m.Status.Phase == Completed) && !t.stays(h) {
			left = append(left, h)
		}
	}
	return left, err
}

// Lease tells whether a held thing is on the source: a snapshot of ours, or change tracking that we switched on.
func (h Held) Lease() bool { return onSource(h) }

// CleanUp removes what an ended migration left behind, or of it only what is on the source, and gives what is seen gone. The
// caller holds the engine's lock.
func (e *Engine) CleanUp(ctx context.Context, m Migration, leases bool) (gone []Held, err error) {
	left, err := Leftover(ctx, e.Store, m)
	if err != nil {
		return nil, err
	}
	left = slices.DeleteFunc(left, func(h Held) bool { return leases && !h.Lease() })
	var errs []error
	for i := len(left) - 1; i >= 0; i-- {
		ok, err := e.release(ctx, m, left[i])
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("remove %s: %w", left[i], err))
		case ok:
			gone = append(gone, left[i])
		default:
			errs = append(errs, fmt.Errorf("%s is still there", left[i]))
		}
	}
	m.Status.Left = slices.DeleteFunc(m.Status.Left, func(h Held) bool {
		return slices.ContainsFunc(gone, func(g Held) bool { return g.ref() == h.ref() })
	})
	if _, err := e.Store.Commit(ctx, Checkpoint{Migration: m, Gone: gone}); err != nil {
		errs = append(errs, err)
	}
	return gone, errors.Join(errs...)
}
