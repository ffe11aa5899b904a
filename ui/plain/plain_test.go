package plain

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"landfall/engine"
	"landfall/ui/uitest"
)

func clock() time.Time { return uitest.Noon }

// talk is a session that a test types into.
type talk struct {
	t    *testing.T
	in   *io.PipeWriter
	mu   sync.Mutex
	out  strings.Builder
	done chan error
}

func (k *talk) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.out.Write(p)
}

func (k *talk) text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.out.String()
}

func begin(t *testing.T, d *uitest.Desk, change func(*Config)) *talk {
	t.Helper()
	r, w := io.Pipe()
	k := &talk{t: t, in: w, done: make(chan error, 1)}
	cfg := Config{Desk: d, Person: engine.Person{Name: "ana"}, Workspace: "lab", In: r, Out: k, Interactive: true, Now: clock, EngineAlive: func() bool { return true }}
	if change != nil {
		change(&cfg)
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() { k.done <- Run(ctx, cfg) }()
	t.Cleanup(func() { stop(); _ = w.Close() })
	return k
}

func (k *talk) types(line string) {
	k.t.Helper()
	if _, err := io.WriteString(k.in, line+"\n"); err != nil {
		k.t.Fatal(err)
	}
}

func (k *talk) hears(want string) {
	k.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(k.text(), want) {
			return
		}
	}
	k.t.Fatalf("%q was not said:\n%s", want, k.text())
}

func (k *talk) ends() {
	k.t.Helper()
	select {
	case err := <-k.done:
		if err != nil {
			k.t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		k.t.Fatalf("it did not end:\n%s", k.text())
	}
}

func TestHarmlessAnswer(t *testing.T) {
	d := uitest.World(clock)
	k := begin(t, d, nil)
	k.hears("DECISION 2, VM legacy-erp: The guest of legacy-erp did not shut down")
	k.types("2 1")
	k.hears("decided: Wait on")
	k.types("quit")
	k.hears("the engine goes on; open again with landfall")
	k.ends()
	if got := d.Said(); got != "answer power-off/c30b52 wait" {
		t.Errorf("the desk was told %q", got)
	}
}

func TestDangerousAnswerNeedsTheName(t *testing.T) {
	for name, c := range map[string]struct{ typed, want string }{
		"the name":         {"legacy-erp", "answer power-off/c30b52 hard"},
		"yes":              {"yes", ""},
		"an empty line":    {"", ""},
		"the option again": {"2 2", ""},
		"half":             {"legacy", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := uitest.World(clock)
			k := begin(t, d, nil)
			k.hears("DECISION 2")
			k.types("2 2")
			k.hears("Type legacy-erp (the VM's name) to do it")
			k.types(c.typed)
			if c.want == "" {
				k.hears("not done")
			} else {
				k.hears("decided: Power off hard")
			}
			if got := d.Said(); got != c.want {
				t.Errorf("the desk was told %q, want %q", got, c.want)
			}
		})
	}
}

// An answer keeps to its question: what goes away meanwhile takes the confirmation with it.
func TestQuestionGoesAwayBeforeTheConfirmation(t *testing.T) {
	d := uitest.World(clock)
	k := begin(t, d, nil)
	k.hears("DECISION 2")
	k.types("2 2")
	k.hears("Type legacy-erp")
	if _, err := d.Answer(t.Context(), "power-off/c30b52", 1, "wait", engine.Person{Name: "ben"}); err != nil {
		t.Fatal(err)
	}
	k.hears("what you were about to confirm was not done")
	k.types("legacy-erp")
	k.hears("not understood")
	if got := d.Said(); got != "answer power-off/c30b52 wait" {
		t.Errorf("the desk was told %q", got)
	}
}

func TestWrongNumbers(t *testing.T) {
	d := uitest.World(clock)
	k := begin(t, d, nil)
	k.hears("DECISION 2")
	for typed, want := range map[string]string{
		"9 1": "there is no decision 9", "2 9": "decision 2 has options 1 to 4", "2": "not understood", "two one": "not understood",
		"0 1": "there is no decision 0", "2 1 1": "not understood", "-1 1": "there is no decision -1",
	} {
		k.types(typed)
		k.hears(want)
	}
	if got := d.Said(); got != "" {
		t.Errorf("the desk was told %q", got)
	}
}

func TestProgressIsPrintedInTens(t *testing.T) {
	d := uitest.NewDesk(clock)
	d.VMs = append(d.VMs, uitest.VM(1, "web"))
	d.Migrate("a", d.VMs[0], engine.Preparing, time.Minute)
	k := begin(t, d, nil)
	k.hears("web  Preparing")
	for n := range 100 {
		d.Edit(func() { d.Slim["a"] = engine.Line{Done: int64(n + 1), Total: 100} })
		time.Sleep(time.Millisecond)
	}
	k.hears("100% of 100 B")
	if n := strings.Count(k.text(), "web  Preparing"); n > 13 {
		t.Errorf("%d lines for one copy:\n%s", n, k.text())
	}
}

func TestEndsWithItsInput(t *testing.T) {
	t.Run("a person hangs up", func(t *testing.T) {
		k := begin(t, uitest.World(clock), nil)
		k.hears("DECISION 2")
		_ = k.in.Close()
		k.ends()
	})
	t.Run("no input, and something moves: it goes on printing until it ends", func(t *testing.T) {
		d := uitest.NewDesk(clock)
		d.VMs = append(d.VMs, uitest.VM(1, "web"))
		d.Migrate("a", d.VMs[0], engine.Importing, time.Minute)
		k := begin(t, d, func(c *Config) { c.Interactive, c.In = false, strings.NewReader("") })
		k.hears("web  Importing")
		select {
		case <-k.done:
			t.Fatal("it ended while a migration moves")
		case <-time.After(600 * time.Millisecond):
		}
		d.Edit(func() { d.Migrations[0].Status.Phase = engine.Completed })
		k.hears("web  Completed")
		k.ends()
	})
}

// Nothing but printable text and newlines leaves, whatever VMs are called.
func TestNoEscapeCodes(t *testing.T) {
	for name, ascii := range map[string]bool{"UTF-8": false, "ASCII": true} {
		t.Run(name, func(t *testing.T) {
			k := begin(t, uitest.World(clock), func(c *Config) { c.ASCII = ascii })
			k.hears("DECISION 2")
			k.types("list")
			k.types("bad\x1b[2J\u202e")
			k.hears("not understood")
			k.types("quit")
			k.ends()
			for _, r := range k.text() {
				if (r < ' ' && r != '\n') || (r >= 0x7f && (ascii || r < 0xa0)) || r == 0x202e {
					t.Fatalf("U+%04X was printed", r)
				}
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	d := uitest.World(clock)
	k := begin(t, d, func(c *Config) { c.ReadOnly = true })
	k.hears("DECISION 2")
	k.types("2 1")
	k.hears("this console is read-only")
	if got := d.Said(); got != "" {
		t.Errorf("the desk was told %q", got)
	}
}
