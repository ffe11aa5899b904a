// Package app is the console's root: one model that routes sizes, keys, dialogs and snapshots to its pages, and carries
// out what they want through the desk. It knows no driver and no store, only the desk.
package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	xterm "github.com/charmbracelet/x/term"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/engine/spec"
	"landfall/ui/feed"
	"landfall/ui/pages"
	"landfall/ui/plain"
	"landfall/ui/term"
)

// Config is everything that the console is given.
type Config struct {
	Desk      engine.Desk
	Person    engine.Person
	Workspace string // its name, for the header
	Title     string // of the terminal's window; empty: "landfall" and the workspace
	ReadOnly  bool
	Plain     bool // the line mode is wished for

	In, Out *os.File
	// Env gives environment variables, as os.LookupEnv does.
	Env func(key string) (string, bool)
	Now func() time.Time

	// EngineAlive tells whether an engine holds the workspace. It must not block.
	EngineAlive func() bool
	// StartEngine starts one in a session of its own and returns when it runs or failed to. It may block for a while.
	StartEngine func() error
	// DefaultSpec gives the document that a migration of the VM starts with. It is pure.
	DefaultSpec func(engine.Listed) spec.Document
	// Verdict judges a VM for the inventory; nil leaves the column empty. It is pure and may be called from any goroutine.
	Verdict pages.Verdict
	// NoSource is said on the inventory while no source is known: how to add one.
	NoSource string
	// Crash keeps the traces of a crash of the console and tells where; nil prints them.
	Crash func(reason string, stack []byte) (where string)
}

// fps bounds how often the screen is drawn.
const fps = 10

// Run shows the console until the person leaves, ctx ends, or the terminal goes away. The engine is never touched. An
// error means that the console could not be shown or crashed; the terminal is restored before it returns.
func Run(ctx context.Context, cfg Config) error {
	cfg = defaults(cfg)
	gate := term.Decide(cfg.Env, xterm.IsTerminal(cfg.In.Fd()), xterm.IsTerminal(cfg.Out.Fd()), cfg.Plain)
	if gate.Plain {
		return plain.Run(ctx, plain.Config{
			Desk: cfg.Desk, Person: cfg.Person, Workspace: cfg.Workspace, ReadOnly: cfg.ReadOnly, ASCII: gate.ASCII,
			In: cfg.In, Out: cfg.Out, Interactive: xterm.IsTerminal(cfg.In.Fd()), Now: cfg.Now,
			EngineAlive: cfg.EngineAlive, StartEngine: cfg.StartEngine,
		})
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	lost := make(chan struct{})
	in, out := term.Watch(ctx, cfg.In, cfg.Out, func() { close(lost) })
	m := newModel(ctx, cfg, gate)
	profile := colorprofile.ANSI
	if gate.NoColor {
		profile = colorprofile.ASCII
	}
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithFPS(fps), tea.WithColorProfile(profile))
	m.feed.Deliver = func(s *feed.Snapshot) { p.Send(snapshotMsg{s}) }
	m.feed.Crash = func(reason any, stack []byte) { p.Send(crashMsg{reason, stack}) }
	go m.feed.Run(ctx)
	go func() {
		select {
		case <-lost:
			p.Send(lostMsg{})
		case <-ctx.Done():
		}
	}()

	_, err := p.Run()
	stop()
	return m.leave(err)
}

func defaults(cfg Config) Config {
	if cfg.Env == nil {
		cfg.Env = os.LookupEnv
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.EngineAlive == nil {
		cfg.EngineAlive = func() bool { return false }
	}
	if cfg.DefaultSpec == nil {
		cfg.DefaultSpec = func(engine.Listed) spec.Document { return spec.Document{} }
	}
	if cfg.NoSource == "" {
		cfg.NoSource = "No source is known yet."
	}
	if cfg.Title == "" {
		cfg.Title = "landfall " + cfg.Workspace
	}
	cfg.Title = plaintext.Label(cfg.Title)
	return cfg
}

// leave says how things stand after the screen is gone.
func (m *Model) leave(err error) error {
	switch {
	case m.lost:
		return nil
	case m.crash != nil:
		return m.crashed()
	case errors.Is(err, context.Canceled), errors.Is(err, tea.ErrInterrupted), errors.Is(err, tea.ErrProgramKilled) && m.ctx.Err() != nil:
		err = nil
	}
	if err != nil {
		return fmt.Errorf("show the console: %w; the engine is not touched by that; landfall --plain needs no screen", err)
	}
	_, _ = fmt.Fprintln(m.cfg.Out, farewell(m.cfg.EngineAlive()))
	return nil
}

func farewell(alive bool) string {
	if alive {
		return "the engine goes on; open again with landfall"
	}
	return "no engine runs, so nothing moves; open again with landfall"
}

// crashed says that the console broke, keeps the traces, and that nothing else did.
func (m *Model) crashed() error {
	reason := plaintext.Label(fmt.Sprint(m.crash.reason))
	where := ""
	if m.cfg.Crash != nil {
		where = m.cfg.Crash(reason, m.crash.stack)
	} else {
		_, _ = fmt.Fprintln(os.Stderr, plaintext.Text(string(m.crash.stack)))
	}
	if where != "" {
		where = "; the traces are in " + where
	}
	return fmt.Errorf("the console stopped on an error of its own: %s%s; the engine is not touched by that: open again with landfall, or use landfall list", reason, where)
}
