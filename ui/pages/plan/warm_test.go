package plan

import (
	"testing"

	"landfall/engine/spec"
)

func TestEachWarmFieldKeepsWhatItTakes(t *testing.T) {
	for label, v := range map[string]string{"downtime": "120", "threshold": "16", "max rounds": "7", "hold": "yes", "tracking": string(spec.EnableAndRestoreTracking),
		"window": "2026-03-14T22:00:00Z/2026-03-15T04:00:00+01:00"} {
		t.Run(label, func(t *testing.T) {
			s := spec.Spec{}
			s.Strategy.Type = "Warm"
			for _, f := range follow() {
				if f.label != label {
					continue
				}
				f.set(&s, v)
				if got := f.get(s.Default()); got != v {
					t.Errorf("%q became %q", v, got)
				}
				return
			}
			t.Error("there is no such field")
		})
	}
}

func TestAWindowThatCannotBeIsRefused(t *testing.T) {
	for name, v := range map[string]string{"one time": "2026-03-14T22:00:00Z", "no zone": "2026-03-14T22:00:00/2026-03-15T22:00:00",
		"backwards": "2026-03-15T22:00:00Z/2026-03-14T22:00:00Z", "words": "tonight/tomorrow"} {
		t.Run(name, func(t *testing.T) {
			if spans(v) == "" {
				t.Errorf("%q is taken", v)
			}
		})
	}
}

func TestColdLeavesNothingOfWarm(t *testing.T) {
	s := spec.Spec{}
	s.Strategy.Type, s.Strategy.Warm.Hold = "Warm", true
	for _, f := range general() {
		if f.label == "strategy" {
			f.set(&s, "Cold")
		}
	}
	if s.Strategy.Warm != (spec.Warm{}) {
		t.Errorf("left %+v", s.Strategy.Warm)
	}
}
