package lab

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

func TestOneCommandAtATime(t *testing.T) {
	l := open(t)
	if err := l.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	another, err := Open(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := another.Lock(ctx); err == nil {
		t.Fatal("two commands have the lab")
	}
	l.Unlock()
	if err := another.Lock(t.Context()); err != nil {
		t.Errorf("freed, and not to be had: %v", err)
	}
	another.Unlock()
}

func TestUntilTellsTheLastReason(t *testing.T) {
	l, reason := open(t), errors.New("not yet")
	if err := l.Until(t.Context(), "it", 300*time.Millisecond, func(context.Context) error { return reason }); !errors.Is(err, reason) {
		t.Errorf("it says %v", err)
	}
	n := 0
	if err := l.Until(t.Context(), "it", 5*time.Second, func(context.Context) error {
		if n++; n < 2 {
			return reason
		}
		return nil
	}); err != nil || n != 2 {
		t.Errorf("after %d looks: %v", n, err)
	}
}
