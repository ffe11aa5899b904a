package app

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"landfall/engine"
	"landfall/engine/preflight"
	"landfall/ui/uitest"
)

// The console as a process on a real terminal: the test binary runs itself with consoleEnv set to a world.
const consoleEnv = "LANDFALL_TEST_CONSOLE"

func TestMain(m *testing.M) {
	if world := os.Getenv(consoleEnv); world != "" {
		os.Exit(child(world))
	}
	os.Exit(m.Run())
}

func child(world string) int {
	desk := uitest.World(clock)
	now, alive := clock, true
	switch world {
	case "rest":
		desk = uitest.Many(clock, 5000)
	case "asks":
		now = time.Now
	case "moves":
		now = time.Now
		go func() {
			for n := int64(0); ; n++ {
				time.Sleep(50 * time.Millisecond)
				desk.Edit(func() {
					l := desk.Slim["4f21e9"]
					l.Done, l.Total, l.Rate, l.ETA = n%1000, 1000, float64(n<<20), float64(n)
					desk.Slim["4f21e9"] = l
				})
			}
		}()
	}
	cfg := Config{
		Desk: desk, Person: engine.Person{Name: "ana"}, Workspace: "lab", In: os.Stdin, Out: os.Stdout, Now: now,
		EngineAlive: func() bool { return alive }, DefaultSpec: uitest.Document, Verdict: uitest.Verdict,
	}
	switch world {
	case "panics in drawing":
		cfg.Verdict = func(engine.Listed) (string, preflight.Level) { panic("broken on purpose") }
	case "panics aside":
		cfg.StartEngine = func() error { panic("broken on purpose") }
		cfg.EngineAlive = func() bool { return false }
	}
	if err := Run(context.Background(), cfg); err != nil {
		fmt.Fprintln(os.Stderr, "landfall:", err)
		return 1
	}
	return 0
}

func terminal(t *testing.T, world string, width, height int, env ...string) *uitest.Terminal {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "NO_COLOR=", "TMUX=", consoleEnv+"="+world)
	cmd.Env = append(cmd.Env, env...)
	return uitest.Start(t, cmd, width, height)
}

func TestIdleSendsNothing(t *testing.T) {
	for _, world := range []string{"rest", "waits"} {
		t.Run(world, func(t *testing.T) {
			p := terminal(t, world, 80, 24)
			p.WaitFor("VMs")
			p.Quiet(time.Second)
			before := p.Bytes()
			time.Sleep(3 * time.Second)
			if n := p.Bytes() - before; n != 0 {
				t.Errorf("%d bytes in 3 s of rest: %q", n, p.Raw()[before:])
			}
		})
	}
}

// Drawing is bounded, however often the desk changes.
func TestAtMostTenFramesASecond(t *testing.T) {
	p := terminal(t, "moves", 80, 24)
	p.WaitFor("Inventory")
	p.Send("\x1b[?2026;2$y") // the terminal's answer: it can draw frames at once
	p.Send("2")
	p.WaitFor("need a person")
	before := len(p.Raw())
	time.Sleep(3 * time.Second)
	raw := p.Raw()[before:]
	frames := strings.Count(raw, "\x1b[?2026h")
	if frames < 3 || frames > 33 {
		t.Errorf("%d frames in 3 s", frames)
	}
	if len(raw) > 6<<10 {
		t.Errorf("%d bytes in 3 s", len(raw))
	}
	t.Logf("%d frames, %d bytes in 3 s", frames, len(raw))
}

func TestQuitSaysThatTheEngineGoesOn(t *testing.T) {
	p := terminal(t, "waits", 80, 24)
	p.WaitFor("VMs")
	p.Send("q")
	if err := p.Ended(); err != nil {
		t.Errorf("ended with %v", err)
	}
	raw := p.Raw()
	left := strings.LastIndex(raw, "\x1b[?1049l")
	said := strings.Index(raw, "the engine goes on; open again with landfall")
	if left < 0 || said < left {
		t.Errorf("the screen is left at %d, said at %d", left, said)
	}
}

func TestLostTerminal(t *testing.T) {
	for name, lose := range map[string]func(p *uitest.Terminal){
		"hang-up signal":      func(p *uitest.Terminal) { p.Signal(syscall.SIGHUP) },
		"the line is cut off": func(p *uitest.Terminal) { p.Hang() },
	} {
		t.Run(name, func(t *testing.T) {
			p := terminal(t, "waits", 80, 24)
			p.WaitFor("VMs")
			began := time.Now()
			lose(p)
			if err := p.Ended(); err != nil {
				t.Errorf("ended with %v", err)
			}
			if d := time.Since(began); d > 5*time.Second {
				t.Errorf("it took %s", d)
			}
		})
	}
}

func TestTerminateRestoresTheTerminal(t *testing.T) {
	p := terminal(t, "waits", 80, 24)
	p.WaitFor("VMs")
	p.Signal(syscall.SIGTERM)
	_ = p.Ended()
	raw := p.Raw()
	for _, want := range []string{"\x1b[?1049l", "\x1b[?25h", "\x1b[?2004l"} {
		if !strings.Contains(raw, want) {
			t.Errorf("%q was not sent at the end", want)
		}
	}
}

func TestPanicRestoresTheTerminalAndSaysWhat(t *testing.T) {
	for world, do := range map[string]func(p *uitest.Terminal){
		"panics in drawing": func(*uitest.Terminal) {},
		"panics aside":      func(p *uitest.Terminal) { p.WaitFor("no engine runs"); p.Send("E") },
	} {
		t.Run(world, func(t *testing.T) {
			p := terminal(t, world, 80, 24)
			do(p)
			if err := p.Ended(); err == nil {
				t.Error("it ended as if all were well")
			}
			raw := p.Raw()
			left := strings.LastIndex(raw, "\x1b[?1049l")
			said := strings.Index(raw, "the console stopped on an error of its own: broken on purpose")
			if left < 0 || said < left {
				t.Errorf("left at %d, said at %d:\n%s", left, said, raw[max(0, len(raw)-2000):])
			}
		})
	}
}

func TestSuspendAndResume(t *testing.T) {
	sh := exec.Command("/bin/sh", "-i", "-m")
	sh.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "PS1=shell> ", "TMUX=", consoleEnv+"=waits", "CONSOLE="+os.Args[0])
	p := uitest.Start(t, sh, 80, 24)
	p.WaitFor("shell>")
	p.Send("$CONSOLE\r")
	p.WaitFor("VMs")
	p.Send("\x1a")
	p.WaitFor("Stopped") // the prompt of before is on the screen again while the console still reads the keys
	p.Send("fg\r")
	p.WaitFor("VMs")
	p.Send("q")
	p.WaitFor("the engine goes on")
	p.Send("exit\r")
	_ = p.Ended()
}

func TestResizeStorm(t *testing.T) {
	p := terminal(t, "waits", 80, 24)
	p.WaitFor("VMs")
	for i := range 60 {
		p.Resize(20+i*7%120, 3+i*5%50)
		time.Sleep(5 * time.Millisecond)
	}
	p.Resize(0, 0)
	time.Sleep(50 * time.Millisecond)
	p.Resize(80, 24)
	p.Send("2")
	p.WaitFor("need a person")
	p.Quiet(500 * time.Millisecond)
	lines := strings.Split(p.Text(), "\n")
	if len(lines) != 24 || !strings.HasPrefix(lines[0], " landfall") || !strings.Contains(lines[23], "decisions wait") {
		t.Errorf("half a screen is left of the storm (%d lines):\n%s", len(lines), p.Text())
	}
}

// An arrow that a slow line tears comes as esc, [ and A: nothing is answered by it.
func TestTornArrowOnTheLine(t *testing.T) {
	p := asked(t)
	p.Send("1")
	time.Sleep(200 * time.Millisecond)
	p.Send("\x1b")
	time.Sleep(200 * time.Millisecond)
	p.Send("[B")
	p.Send("\r")
	p.Quiet(500 * time.Millisecond)
	if s := p.Text(); strings.Contains(s, "decided:") {
		t.Errorf("it was answered:\n%s", s)
	}
}

// asked is the console with the dialog of the foreign VM open, and old enough to listen.
func asked(t *testing.T) *uitest.Terminal {
	t.Helper()
	p := terminal(t, "asks", 80, 24)
	p.WaitFor("VMs")
	p.Send("3")
	p.WaitFor("QUESTION")
	p.Send("d")
	p.WaitFor("Back, and decide nothing now")
	time.Sleep(500 * time.Millisecond)
	return p
}

func TestAnswerOnTheLine(t *testing.T) {
	p := asked(t)
	p.Send("1")
	time.Sleep(200 * time.Millisecond)
	p.Send("\r")
	p.WaitFor("decided: Look again")
}

// Neither a bracketed paste nor a bare one answers what cannot be undone.
func TestPasteOnTheLine(t *testing.T) {
	for name, paste := range map[string]string{"bracketed": "\x1b[200~vm-10\t\r\x1b[201~", "bare": "vm-10\t\r"} {
		t.Run(name, func(t *testing.T) {
			p := asked(t)
			p.Send("2")
			time.Sleep(200 * time.Millisecond)
			p.Send("\r")
			p.WaitFor("Type vm-10 to confirm")
			time.Sleep(500 * time.Millisecond)
			p.Send(paste)
			p.Quiet(500 * time.Millisecond)
			if s := p.Text(); strings.Contains(s, "decided:") || strings.Contains(s, "1 decision waits") {
				t.Errorf("it was answered:\n%s", s)
			}
		})
	}
}

func TestSynchronizedOutputIsAskedForOverSSH(t *testing.T) {
	p := terminal(t, "waits", 80, 24, "SSH_TTY=/dev/pts/9", "SSH_CONNECTION=1 2 3 4")
	p.WaitFor("VMs")
	if !strings.Contains(p.Raw(), "\x1b[?2026$p") {
		t.Error("it was not asked for")
	}
}

func TestNoColour(t *testing.T) {
	p := terminal(t, "waits", 80, 24, "NO_COLOR=yes")
	p.WaitFor("VMs")
	p.Send("2")
	p.WaitFor("need a person")
	for _, code := range []string{"\x1b[31", "\x1b[32", "\x1b[33", "\x1b[91", "\x1b[92", "\x1b[93", "\x1b[96", "[38;", "[48;"} {
		if strings.Contains(p.Raw(), code) {
			t.Errorf("the colour %q was sent", code)
		}
	}
}

// Nothing of a hostile name reaches a real terminal, by way of the real renderer.
func TestHostileNamesOnTheLine(t *testing.T) {
	p := terminal(t, "waits", 120, 40)
	p.WaitFor("VMs")
	for _, k := range []string{"G", "2", "\r", "\t", "3", "d"} {
		p.Send(k)
		p.Quiet(200 * time.Millisecond)
	}
	raw := p.Raw()
	for _, bad := range []string{"\x1b[31mred", "\x1b]0;owned", "\x1b]8;;http", "\x1bP1$q", "\u009b", "\u202e", "\u200b", "\b\b\b", "\xff"} {
		if strings.Contains(raw, bad) {
			t.Errorf("%q reached the terminal", bad)
		}
	}
}

func TestDumbTerminalGetsLines(t *testing.T) {
	for name, env := range map[string]string{"dumb": "TERM=dumb", "no TERM": "TERM="} {
		t.Run(name, func(t *testing.T) {
			p := terminal(t, "waits", 80, 24, env)
			p.WaitFor("to answer, type the two numbers")
			p.Send("quit\r")
			if err := p.Ended(); err != nil {
				t.Errorf("ended with %v", err)
			}
			if i := strings.IndexByte(p.Raw(), 0x1b); i >= 0 {
				t.Errorf("an escape code was sent: %q", p.Raw()[i:min(len(p.Raw()), i+20)])
			}
		})
	}
	t.Run("piped", func(t *testing.T) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TERM=xterm", "LC_ALL=C.UTF-8", consoleEnv+"=rest")
		cmd.Stdin = strings.NewReader("quit\n")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if s := string(out); strings.Contains(s, "\x1b") || !strings.Contains(s, "the engine goes on") {
			t.Errorf("printed %q", s)
		}
	})
}
