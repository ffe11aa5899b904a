package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"landfall/engine/fault"
)

// seen is all that the engine asks about an error.
type seen struct {
	class  fault.Class
	reason string
	hint   string
	after  time.Duration
}

func look(err error) seen {
	return seen{fault.ClassOf(err), fault.ReasonOf(err), fault.HintOf(err), fault.AfterOf(err)}
}

func TestWhatIsSeenThroughWrapping(t *testing.T) {
	gone := fault.Newf(fault.Blocked, fault.NotFound, "no such VM")
	slow := fault.RetryAfter(fault.Newf(fault.Transient, fault.Unreachable, "429"), time.Minute)
	hinted := fault.Hint(gone, "look at host %s", "esxi1")
	plain := errors.New("boom")
	wrap := func(err error) error { return fmt.Errorf("copy disk 0: %w", fmt.Errorf("open: %w", err)) }
	for name, tc := range map[string]struct {
		err  error
		want seen
	}{
		"none":                            {nil, seen{reason: "Unknown"}},
		"nobody classed it":               {plain, seen{reason: "Unknown"}},
		"bare":                            {gone, seen{fault.Blocked, fault.NotFound, "", 0}},
		"wrapped":                         {wrap(gone), seen{fault.Blocked, fault.NotFound, "", 0}},
		"hint, wrapped":                   {wrap(hinted), seen{fault.Blocked, fault.NotFound, "look at host esxi1", 0}},
		"hint on a wrapped one":           {fault.Hint(wrap(gone), "x"), seen{fault.Blocked, fault.NotFound, "x", 0}},
		"hint over a hint":                {fault.Hint(wrap(hinted), "outer"), seen{fault.Blocked, fault.NotFound, "outer", 0}},
		"hint on one that nobody classed": {fault.Hint(plain, "x"), seen{"", "Unknown", "x", 0}},
		"wait":                            {wrap(slow), seen{fault.Transient, fault.Unreachable, "", time.Minute}},
		"wait and hint":                   {fault.Hint(slow, "be patient"), seen{fault.Transient, fault.Unreachable, "be patient", time.Minute}},
		"wait on a hinted one":            {fault.RetryAfter(hinted, time.Second), seen{fault.Blocked, fault.NotFound, "look at host esxi1", time.Second}},
		"classed anew":                    {fault.New(fault.Permanent, fault.Damaged, wrap(hinted)), seen{fault.Permanent, fault.Damaged, "look at host esxi1", 0}},
		"classed anew with a wait within": {fault.New(fault.Transient, fault.Conflict, wrap(slow)), seen{fault.Transient, fault.Conflict, "", time.Minute}},
		"classed anew without a reason":   {fault.New(fault.Transient, "", wrap(gone)), seen{fault.Transient, fault.NotFound, "", 0}},
		"joined, the first counts":        {errors.Join(gone, slow), seen{fault.Blocked, fault.NotFound, "", time.Minute}},
		"joined, the hint is the second":  {errors.Join(slow, hinted), seen{fault.Transient, fault.Unreachable, "look at host esxi1", time.Minute}},
		"joined with a plain one":         {wrap(errors.Join(plain, nil, wrap(hinted))), seen{fault.Blocked, fault.NotFound, "look at host esxi1", 0}},
		"joined after a hinted plain one": {errors.Join(fault.Hint(plain, "x"), gone), seen{fault.Blocked, fault.NotFound, "x", 0}},
		"two wrapped at once":             {fmt.Errorf("%w, then %w", plain, slow), seen{fault.Transient, fault.Unreachable, "", time.Minute}},
		"the longest wait":                {errors.Join(fault.RetryAfter(gone, time.Second), slow), seen{fault.Blocked, fault.NotFound, "", time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := look(tc.err); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestCausesAreKept(t *testing.T) {
	err := fault.RetryAfter(fault.Hint(fault.Newf(fault.Transient, fault.EarlyEnd, "read %s: %w", "x", io.ErrUnexpectedEOF), "again"), time.Second)
	if !errors.Is(err, io.ErrUnexpectedEOF) || err.Error() != "read x: unexpected EOF" {
		t.Errorf("got %v", err)
	}
	if !errors.Is(fault.New(fault.Transient, fault.Interrupted, context.Canceled), context.Canceled) {
		t.Error("the cause is lost")
	}
}

func TestIs(t *testing.T) {
	gone := fault.Newf(fault.Blocked, fault.NotFound, "no such VM")
	if !fault.Is(fmt.Errorf("look: %w", gone), fault.NotFound) || fault.Is(gone, fault.NotOurs) || fault.Is(nil, "Unknown") || fault.Is(nil, fault.NotFound) {
		t.Error("a reason is mistaken")
	}
}

func TestNoErrorStaysNone(t *testing.T) {
	for name, err := range map[string]error{
		"new": fault.New(fault.Blocked, fault.NotFound, nil), "hint": fault.Hint(nil, "x"), "wait": fault.RetryAfter(nil, time.Second),
	} {
		if err != nil {
			t.Errorf("%s makes an error of none: %v", name, err)
		}
	}
}
