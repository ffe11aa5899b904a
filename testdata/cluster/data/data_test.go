package data

import (
	"io"
	"os"
	"testing"
	"time"

	"landfall/testdata/cluster/lab"
)

// A file that is as it should be is left alone: programs watch theirs.
func TestWriteLeavesWhatIsEqual(t *testing.T) {
	l := &lab.Lab{Dir: t.TempDir(), Out: io.Discard}
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	for content, again := range map[string]bool{"same": true, "other": false} {
		path, err := write(l, "file", "same")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		if _, err := write(l, "file", content); err != nil {
			t.Fatal(err)
		}
		s, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if untouched := s.ModTime().Equal(old); untouched != again {
			t.Errorf("%q over \"same\": untouched %v", content, untouched)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != content {
			t.Errorf("%q, %v", b, err)
		}
	}
}
