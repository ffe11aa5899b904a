package trace

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestStateInOneLine(t *testing.T) {
	conditions := []any{
		map[string]any{"type": "Running", "status": "False", "reason": "Error", "message": "dial 10.244.1.7:8443 after 123456789 ns"},
		map[string]any{"type": "Bound", "status": "True", "reason": "Bound"},
	}
	for _, c := range []struct {
		name   string
		status map[string]any
		want   string
	}{
		{"just created", nil, "-                    -       0"},
		{"failing", map[string]any{"phase": "ImportInProgress", "progress": "N/A", "restartCount": int64(2), "conditions": conditions},
			`ImportInProgress     N/A     2  Bound=True/Bound ""  Running=False/Error "dial ADDRESS after N ns"`},
		{"half way", map[string]any{"phase": "ImportInProgress", "progress": "41.07%"}, "ImportInProgress     N%      0"},
		{"at the end of the copy", map[string]any{"phase": "ImportInProgress", "progress": "100.00%"}, "ImportInProgress     100.00% 0"},
		{"done", map[string]any{"phase": "Succeeded", "progress": "100.0%"}, "Succeeded            100.0%  0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: map[string]any{}}
			if c.status != nil {
				u.Object["status"] = c.status
			}
			if got := state(u); got != c.want {
				t.Errorf("state is\n%s, want\n%s", got, c.want)
			}
		})
	}
}

func TestTraceHasEachStateOnce(t *testing.T) {
	var tr Trace
	tr.Did("create %s", "it")
	tr.add("Pending")
	tr.add("Pending")
	tr.Got("%s", "200 OK ")
	tr.add("Pending")
	if got, want := tr.String(), "> create it\nPending\n< 200 OK\nPending\n"; got != want {
		t.Errorf("trace is %q, want %q", got, want)
	}
}
