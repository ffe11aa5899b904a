// Package plain is the console without a screen: it prints what changes as lines, and takes the same decisions by number,
// for screen readers, pipes and dumb terminals. It writes no escape code. It knows no driver and no store, only the desk.
package plain

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/feed"
	"landfall/ui/term"
	"landfall/ui/widget"
)

// Config is what the line mode is given.
type Config struct {
	Desk      engine.Desk
	Person    engine.Person
	Workspace string
	ReadOnly  bool
	ASCII     bool
	In        io.Reader
	Out       io.Writer
	// Interactive tells that a person types; else the mode ends with its input, once nothing moves any more.
	Interactive bool
	Now         func() time.Time
	EngineAlive func() bool
	StartEngine func() error
}

const patience = 10 * time.Second

// Run prints and asks until the person quits, ctx ends, or the output cannot be written. The engine is never touched.
func Run(ctx context.Context, cfg Config) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &session{cfg: cfg, ctx: ctx, seen: map[string]string{}, numbers: map[string]int{}, settled: map[string]bool{}}
	snaps := make(chan *feed.Snapshot)
	broken := make(chan error, 2)
	f := feed.New(cfg.Desk, cfg.EngineAlive, cfg.Now)
	f.Deliver = func(snap *feed.Snapshot) {
		select {
		case snaps <- snap:
		case <-ctx.Done():
		}
	}
	f.Crash = func(reason any, _ []byte) { broken <- fmt.Errorf("read the workspace: %v", reason) }
	s.look = f.Look
	go f.Run(ctx)
	typed := make(chan string)
	go read(ctx, cfg.In, typed, broken)

	s.say("landfall, workspace %s; help tells the commands", plaintext.Label(cfg.Workspace))
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-broken:
			return fmt.Errorf("the line mode stopped on an error of its own: %w; the engine is not touched by that", err)
		case snap := <-snaps:
			s.show(snap)
		case line, ok := <-typed:
			if !ok {
				typed, s.eof = nil, true
				if cfg.Interactive {
					return nil
				}
				break
			}
			s.command(line)
		}
		if s.failed != nil {
			return nil // nobody listens any more
		}
		if s.quit || (s.eof && s.snap != nil && s.still()) {
			s.farewell()
			return nil
		}
	}
}

// read gives lines until the input ends.
func read(ctx context.Context, in io.Reader, typed chan<- string, broken chan<- error) {
	defer close(typed)
	defer func() {
		if r := recover(); r != nil {
			broken <- fmt.Errorf("read the input: %v\n%s", r, debug.Stack())
		}
	}()
	if in == nil {
		return
	}
	sc := bufio.NewScanner(in)
	for sc.Scan() {
		select {
		case typed <- sc.Text():
		case <-ctx.Done():
			return
		}
	}
}

// session is one run.
type session struct {
	cfg     Config
	ctx     context.Context // the life of the session
	snap    *feed.Snapshot
	look    func()
	seen    map[string]string // what was printed last, by migration
	numbers map[string]int    // of decisions: they keep theirs, so that an answer never meets another question
	settled map[string]bool   // decisions that were answered here
	asked   []engine.Decision // by number - 1
	confirm *confirm
	alive   *bool
	failure string
	quit    bool
	eof     bool
	failed  error
}

// confirm is a dangerous answer that waits for the VM's name.
type confirm struct {
	number int
	option engine.Option
	word   string
}

func (s *session) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.cfg.ASCII {
		text = term.ASCII(text)
	}
	if _, err := fmt.Fprintln(s.cfg.Out, text); err != nil && s.failed == nil {
		s.failed = err
	}
}

// still tells that nothing will change any more without a person.
func (s *session) still() bool { return !s.snap.Moving() }

func (s *session) farewell() {
	if n := len(s.snap.Waiting); n > 0 {
		s.say("%s for a person: landfall decide", widget.Count(n, "decision waits", "decisions wait"))
	}
	if s.snap.Alive {
		s.say("the engine goes on; open again with landfall")
	} else {
		s.say("no engine runs, so nothing moves; open again with landfall")
	}
}

func (s *session) start() {
	switch {
	case s.cfg.ReadOnly:
		s.say("this console is read-only")
	case s.snap != nil && s.snap.Alive:
		s.say("the engine runs already")
	case s.cfg.StartEngine == nil:
		s.say("this console cannot start an engine: run landfall engine")
	default:
		if err := s.cfg.StartEngine(); err != nil {
			s.say("start the engine: %s", plaintext.Label(err.Error()))
			return
		}
		s.look()
	}
}

func (s *session) give(number int, o engine.Option) {
	d := s.asked[number-1]
	ctx, stop := context.WithTimeout(s.ctx, patience)
	defer stop()
	got, err := s.cfg.Desk.Answer(ctx, d.ID, d.Version, o.ID, s.cfg.Person)
	switch {
	case errors.Is(err, engine.ErrStale):
		s.say("not decided by you: it was taken by %s", plaintext.Label(orSomeone(got.By)))
	case err != nil:
		s.say("answer decision %d: %s", number, plaintext.Label(err.Error()))
	default:
		s.settled[d.ID] = true
		s.say("decided: %s", plaintext.Label(o.Label))
	}
	s.look()
}

func orSomeone(by string) string {
	if by == "" {
		return "nobody: it is not asked any more"
	}
	return by
}
