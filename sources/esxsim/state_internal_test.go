package esxsim

import (
	"os"
	"testing"
)

// A task that ends after the host did writes nothing into a folder that may be gone.
func TestNothingIsKeptAfterTheEnd(t *testing.T) {
	s, err := Start(t.Context(), Config{Dir: t.TempDir(), Password: "pass", VMs: []VM{{Name: "web", Power: On, Disks: []Disk{{Size: 1 << 20}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := os.RemoveAll(s.Dir()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.Dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, m := range s.machines {
		s.remember(m)
	}
	if left, err := os.ReadDir(s.Dir()); err != nil || len(left) > 0 {
		t.Errorf("written after the end: %v, %v", left, err)
	}
}
