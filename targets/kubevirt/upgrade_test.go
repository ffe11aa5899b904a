package kubevirt_test

import (
	"strings"
	"testing"

	"landfall/targets/kubesim"
)

// A plan is rendered once and kept. When a later release would render more, what the kept plan made is still what it says,
// and only what was rendered anew shows the difference, field by field.
func TestKeptPlanIsNoDriftAfterAnUpgrade(t *testing.T) {
	s := start(t, kubesim.Config{})
	k := dial(t, s, nil)
	later := plan(t, "web")
	kept := later
	kept.Manifest = strings.Replace(later.Manifest, "      terminationGracePeriodSeconds: 180\n", "", 1)
	kept.Manifest = strings.Replace(kept.Manifest, later.Fingerprint, strings.Repeat("ab", 32), 1)
	if kept.Manifest == later.Manifest || strings.Contains(kept.Manifest, later.Fingerprint) {
		t.Fatal("the kept plan is the later one")
	}
	if err := k.ApplyMachine(t.Context(), owner, kept); err != nil {
		t.Fatal(err)
	}
	if m, err := k.Machine(t.Context(), owner, kept); err != nil || !m.Matches || len(m.Diff) > 0 {
		t.Errorf("as kept it is %+v, %v", m, err)
	}
	m, err := k.Machine(t.Context(), owner, later)
	if err != nil || m.Matches || len(m.Diff) != 2 || !strings.Contains(strings.Join(m.Diff, "\n"), "terminationGracePeriodSeconds: missing") {
		t.Errorf("as rendered anew it is %+v, %v", m, err)
	}
}
