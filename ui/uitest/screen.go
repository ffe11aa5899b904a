package uitest

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden screens")

// Screen draws content on an emulated terminal and gives what a person would see, line by line.
func Screen(t testing.TB, content string, width, height int) []string {
	t.Helper()
	e := vt.NewEmulator(width, height)
	defer hangUp(e)
	go func() { _, _ = io.Copy(io.Discard, e) }() // what the terminal would answer
	_, _ = e.WriteString(strings.ReplaceAll(content, "\n", "\r\n"))
	lines := make([]string, height)
	for y := range lines {
		var b strings.Builder
		for x := 0; x < width; {
			c := e.CellAt(x, y)
			if c == nil || c.Content == "" {
				b.WriteByte(' ')
				x++
				continue
			}
			b.WriteString(c.Content)
			x += max(1, c.Width)
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// hangUp ends who reads what the terminal answers. The emulator's own Close may not be called beside a Read.
func hangUp(e *vt.Emulator) {
	if c, ok := e.InputPipe().(io.Closer); ok {
		_ = c.Close()
	}
}

// Golden compares a screen with the file of its name; -update writes it.
func Golden(t *testing.T, name string, lines []string) {
	t.Helper()
	got := strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("the screen is not that of %s (-file +now):\n%s", path, d)
	}
}
