package plan

import (
	"strconv"
	"strings"
	"time"

	"landfall/engine/spec"
	"landfall/ui/pages/draft"
)

// asked is the choice of change tracking that leaves it to a person.
const asked = "Ask"

var tracking = []option{
	{asked, "you are asked where change tracking is off"},
	{string(spec.EnableTracking), "it is switched on where it is off, and stays on"},
	{string(spec.EnableAndRestoreTracking), "it is switched on where it is off, and off again at the end"},
}

var holds = []option{
	{"no", "the word or the window stops the source"},
	{"yes", "the source is not stopped until the hold is taken back"},
}

// follow is the part of the form that is for VMs that are followed while they run.
func follow() []field {
	all := []field{
		{label: "downtime", unit: "s", help: "Seconds of downtime that a cutover may cost: a disk whose projection is within it has converged. 0: not looked at.", check: number(0, 7*86400),
			get: func(s spec.Spec) string { return strconv.Itoa(s.Strategy.Warm.DowntimeBudgetSeconds) },
			set: func(s *spec.Spec, v string) { s.Strategy.Warm.DowntimeBudgetSeconds, _ = strconv.Atoi(v) }},
		{label: "threshold", unit: "MiB", help: "MiB of changes below which a disk has converged.", check: number(1, 1<<30),
			get: func(s spec.Spec) string { return strconv.FormatInt(max(1, s.Strategy.Warm.ThresholdBytes>>20), 10) },
			set: func(s *spec.Spec, v string) {
				n, _ := strconv.ParseInt(v, 10, 64)
				s.Strategy.Warm.ThresholdBytes = n << 20
			}},
		{label: "max rounds", help: "After how many rounds without convergence you are asked.", check: number(1, 10000),
			get: func(s spec.Spec) string { return strconv.Itoa(s.Strategy.Warm.MaxRounds) },
			set: func(s *spec.Spec, v string) { s.Strategy.Warm.MaxRounds, _ = strconv.Atoi(v) }},
		{label: "window", help: "From when until when the engine may cut over by itself, within the downtime: 2026-03-14T22:00:00Z/2026-03-15T04:00:00Z. Empty: at your word only.", check: spans,
			get: func(s spec.Spec) string { return windowText(s.Strategy.Warm.Window) },
			set: func(s *spec.Spec, v string) { s.Strategy.Warm.Window, _ = window(v) }},
		{label: "hold", help: "Whether the cutover is held back.", options: holds,
			get: func(s spec.Spec) string { return map[bool]string{true: "yes", false: "no"}[s.Strategy.Warm.Hold] },
			set: func(s *spec.Spec, v string) { s.Strategy.Warm.Hold = v == "yes" }},
		{label: "tracking", help: "What may be done about change tracking that is off.", options: tracking,
			get: func(s spec.Spec) string {
				if s.Strategy.Warm.ChangeTracking == "" {
					return asked
				}
				return string(s.Strategy.Warm.ChangeTracking)
			},
			set: func(s *spec.Spec, v string) {
				if s.Strategy.Warm.ChangeTracking = spec.ChangeTracking(v); v == asked {
					s.Strategy.Warm.ChangeTracking = ""
				}
			}},
	}
	for i := range all {
		all[i].concerns = warm
	}
	return all
}

func warm(it *draft.Item) bool { return it.Document.Spec.Strategy.Type == "Warm" }

func windowText(w *spec.Window) string {
	if w == nil {
		return ""
	}
	return w.From.Format(time.RFC3339) + "/" + w.Until.Format(time.RFC3339)
}

// window reads a span of time; "" is none.
func window(v string) (w *spec.Window, problem string) {
	if v == "" {
		return nil, ""
	}
	from, until, ok := strings.Cut(v, "/")
	a, err := time.Parse(time.RFC3339, strings.TrimSpace(from))
	b, err2 := time.Parse(time.RFC3339, strings.TrimSpace(until))
	switch {
	case !ok || err != nil || err2 != nil:
		return nil, "is two times with their zone and a slash between them, such as 2026-03-14T22:00:00Z/2026-03-15T04:00:00Z"
	case !a.Before(b):
		return nil, "begins before it ends"
	}
	return &spec.Window{From: a, Until: b}, ""
}

func spans(v string) string {
	_, problem := window(v)
	return problem
}
