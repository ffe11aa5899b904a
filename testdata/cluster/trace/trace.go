// Package trace drives DataVolumes through situations on the lab's real CDI and writes down what their status shows, as small
// files to which a simulated one can be held: each state once, in order, without times. It must not know the simulated one.
//
// A line is a state of the DataVolume: phase, progress, restartCount, and the conditions with reason and message. A line that
// begins with > is what was done, one with < what was answered. What differs from run to run is replaced: a percentage that is
// neither 0 nor 100 by N%, addresses by ADDRESS, numbers that a kernel or a clock chose by N.
package trace

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var datavolumes = schema.GroupVersionResource{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "datavolumes"}

// Trace is what was seen.
type Trace struct {
	mu    sync.Mutex
	lines []string
	at    time.Time // of the newest line
	last  *unstructured.Unstructured
}

func (t *Trace) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) > 0 && t.lines[len(t.lines)-1] == line {
		return
	}
	t.lines, t.at = append(t.lines, line), time.Now()
}

// Did writes down something that was done.
func (t *Trace) Did(format string, args ...any) { t.add("> " + fmt.Sprintf(format, args...)) }

// Got writes down what was answered.
func (t *Trace) Got(format string, args ...any) { t.add("< " + plain(fmt.Sprintf(format, args...))) }

// String is the file.
func (t *Trace) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n") + "\n"
}

// newest is the DataVolume as it was seen last, and for how long nothing has changed.
func (t *Trace) newest() (*unstructured.Unstructured, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last, time.Since(t.at)
}

// watch follows a DataVolume until the context ends.
func (t *Trace) watch(ctx context.Context, d dynamic.Interface, namespace, name string) error {
	w, err := d.Resource(datavolumes).Namespace(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return fmt.Errorf("watch the DataVolume: %w", err)
	}
	go func() {
		defer w.Stop()
		for e := range w.ResultChan() {
			u, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			t.mu.Lock()
			t.last = u
			t.mu.Unlock()
			t.add(state(u))
		}
	}()
	return nil
}

// state is a DataVolume's status in one line.
func state(u *unstructured.Unstructured) string {
	text := func(m map[string]any, key string) string {
		s, _, _ := unstructured.NestedString(m, key)
		return s
	}
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	restarts, _, _ := unstructured.NestedInt64(status, "restartCount")
	line := fmt.Sprintf("%-20s %-7s %d", or(text(status, "phase"), "-"), progress(text(status, "progress")), restarts)
	conditions, _, _ := unstructured.NestedSlice(status, "conditions")
	var all []string
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok {
			all = append(all, fmt.Sprintf("%s=%s/%s %q", text(m, "type"), text(m, "status"), text(m, "reason"), plain(text(m, "message"))))
		}
	}
	slices.Sort(all)
	return strings.TrimRight(line+"  "+strings.Join(all, "  "), " ")
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

var percent = regexp.MustCompile(`^\d+\.\d+%$`)

func progress(s string) string {
	switch {
	case s == "":
		return "-"
	case percent.MatchString(s) && !strings.HasPrefix(s, "100.0") && s != "0.00%":
		return "N%"
	}
	return s
}

// varying is what differs from run to run.
var varying = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+(:\d+)?\b`), "ADDRESS"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\b\d{6,}\b`), "N"},
}

func plain(s string) string {
	for _, v := range varying {
		s = v.what.ReplaceAllString(s, v.as)
	}
	return strings.TrimSpace(s)
}
