package app

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/plaintext"
	"landfall/ui/dialog"
	"landfall/ui/pages"
)

// patience bounds one call of the desk.
const patience = 10 * time.Second

// doneMsg is how something ended that was done aside.
type doneMsg struct {
	said  string // on success
	what  string // the operation, for an error
	err   error
	open  string           // a migration to show
	list  bool             // show the migrations
	taken *engine.Decision // the decision that another took
}

// do carries an action out.
func (m *Model) do(a pages.Action) tea.Cmd { return m.doFor(m.page(), a) }

func (m *Model) doFor(p pages.Page, a pages.Action) tea.Cmd {
	if a == nil {
		return nil
	}
	if pages.Changes(a) && m.cfg.ReadOnly {
		m.toast = "this console is read-only"
		return nil
	}
	switch a := a.(type) {
	case pages.Open:
		m.one.Show(a.UID)
		m.show(atMigration)
		m.follow()
	case pages.Say:
		m.toast = a.Text
	case pages.Aside:
		return m.aside(func(context.Context) tea.Msg { return asideMsg{p, a.Work()} })
	case pages.AskDecision:
		m.dialogs.Open(dialog.NewChoose(a.Decision, m.lineOf(a.Decision.Migration), m.now))
	case pages.AskCancel:
		m.askCancel(a.UID)
	case pages.AskCutOver:
		l := m.lineOf(a.UID)
		m.dialogs.Open(dialog.NewDanger("Cut over", "Stop the source and cut over", a.Effect, l, pages.CutOver{UID: a.UID, Name: plaintext.Label(l.VM)}, m.now))
	case pages.AskPreflight:
		m.think(a.VMs)
		m.show(atPreflight)
		return m.do(m.check.Show(m.draft))
	case pages.AskPlan:
		m.think(a.VMs)
		m.show(atPlan)
		return m.do(m.plan.Show(m.draft))
	case pages.AskOne:
		m.dialogs.Open(dialog.NewOne(a, m.now))
	case pages.AskText:
		m.dialogs.Open(dialog.NewText(a, m.now))
	case dialog.Take:
		return m.do(a.Run())
	default:
		return m.change(a)
	}
	return nil
}

// lineOf gives a migration's line, or one that at least names it.
func (m *Model) lineOf(uid string) engine.Line {
	if l, ok := m.snap.Line(uid); ok {
		return l
	}
	return engine.Line{UID: uid, VM: uid}
}

func (m *Model) askCancel(uid string) {
	l := m.lineOf(uid)
	effect := "The migration stops for good, and what it made in " + pages.Target(l) + " and on this host is removed; what cannot be removed is listed. The source disks stay as they are."
	if !l.Times.SourcePoweredOff.IsZero() {
		effect += " The VM was powered off by this migration and stays off until a person starts it."
	}
	m.dialogs.Open(dialog.NewDanger("Cancel the migration", "Cancel it", effect, l, pages.CancelMigration{UID: uid, Name: plaintext.Label(l.VM)}, m.now))
}

// change does what changes something, aside.
func (m *Model) change(a pages.Action) tea.Cmd {
	desk, who := m.cfg.Desk, m.cfg.Person
	switch a := a.(type) {
	case dialog.LookUp:
		return m.aside(func(ctx context.Context) tea.Msg { return lookUp(ctx, desk, a.Decision) })
	case pages.GiveAnswer:
		return m.aside(func(ctx context.Context) tea.Msg { return answer(ctx, desk, who, a) })
	case pages.CancelMigration:
		return m.aside(func(ctx context.Context) tea.Msg {
			return doneMsg{said: "cancelling " + a.Name + " was asked for", what: "cancel " + a.Name, err: desk.Cancel(ctx, a.UID, who)}
		})
	case pages.CutOver:
		return m.aside(func(ctx context.Context) tea.Msg {
			return doneMsg{said: "the word to cut over " + a.Name + " is given", what: "cut over " + a.Name, err: desk.CutOver(ctx, a.UID, who)}
		})
	case pages.Adjust:
		return m.aside(func(ctx context.Context) tea.Msg {
			return doneMsg{said: a.Name + ": " + a.Said, what: "change " + a.Name, err: adjust(ctx, desk, who, a)}
		})
	case pages.RetryNow:
		return m.aside(func(ctx context.Context) tea.Msg {
			return doneMsg{said: a.Name + " is tried again", what: "try " + a.Name + " again", err: desk.RetryNow(ctx, a.UID, who)}
		})
	case pages.Start:
		return m.aside(func(ctx context.Context) tea.Msg { return start(ctx, desk, who, a) })
	case pages.Look:
		return m.look(a)
	case pages.Save:
		return m.save(a)
	case pages.Refresh:
		return m.refresh()
	}
	return nil
}

// aside runs work on a goroutine of its own. A panic there ends the console in order.
func (m *Model) aside(work func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				msg = crashMsg{r, debug.Stack()}
			}
		}()
		ctx, stop := context.WithTimeout(m.ctx, patience)
		defer stop()
		return work(ctx)
	}
}

func lookUp(ctx context.Context, desk engine.Desk, asked engine.Decision) tea.Msg {
	all, err := desk.Decisions(ctx, asked.Migration)
	if err != nil {
		return nil // the dialog says already that it is not asked any more
	}
	for _, d := range all {
		if d.ID == asked.ID {
			return dialog.Taken{Decision: d}
		}
	}
	return nil
}

func answer(ctx context.Context, desk engine.Desk, who engine.Person, a pages.GiveAnswer) tea.Msg {
	d, err := desk.Answer(ctx, a.Decision.ID, a.Decision.Version, a.Option.ID, who)
	if errors.Is(err, engine.ErrStale) {
		return doneMsg{taken: &d}
	}
	return doneMsg{said: "decided: " + plaintext.Label(a.Option.Label), what: "answer the decision", err: err}
}

// adjust changes a document as it is now, whoever changed it meanwhile.
func adjust(ctx context.Context, desk engine.Desk, who engine.Person, a pages.Adjust) error {
	for {
		mig, err := desk.Find(ctx, a.UID)
		if err != nil {
			return err
		}
		doc := mig.Document
		a.Change(&doc.Spec.Strategy)
		if err := desk.Change(ctx, a.UID, mig.Generation, doc, who); !errors.Is(err, engine.ErrStale) || ctx.Err() != nil {
			return err
		}
	}
}

func start(ctx context.Context, desk engine.Desk, who engine.Person, a pages.Start) tea.Msg {
	var errs []error
	var first string
	n := 0
	for _, doc := range a.Documents {
		mig, err := desk.Apply(ctx, doc, who)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", doc.Metadata.Name, err))
			continue
		}
		if n++; n == 1 {
			first = mig.UID
		}
	}
	d := doneMsg{said: fmt.Sprintf("%d migrations started", n), what: "start", err: errors.Join(errs...), list: n > 1}
	if n == 1 {
		d.said, d.open = "the migration is started", first
	}
	return d
}

func (m *Model) refresh() tea.Cmd {
	desk, who := m.cfg.Desk, m.cfg.Person
	var names []string
	for _, e := range m.snap.Endpoints {
		names = append(names, e.Name)
	}
	if len(names) == 0 {
		m.toast = "no source is known"
		return nil
	}
	return m.aside(func(ctx context.Context) tea.Msg {
		var errs []error
		for _, n := range names {
			if err := desk.Refresh(ctx, n, who); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", n, err))
			}
		}
		return doneMsg{said: "the engine was asked to list " + plaintext.Label(strings.Join(names, ", ")), what: "list the sources", err: errors.Join(errs...)}
	})
}

func (m *Model) startEngine() tea.Cmd {
	switch {
	case m.cfg.ReadOnly:
		m.toast = "this console is read-only"
		return nil
	case m.snap.Alive:
		m.toast = "the engine runs already"
		return nil
	case m.cfg.StartEngine == nil:
		m.toast = "this console cannot start an engine: run landfall engine"
		return nil
	}
	m.toast = "starting the engine" + m.th.Glyph.More
	begin := m.cfg.StartEngine
	return m.aside(func(context.Context) tea.Msg {
		return doneMsg{said: "the engine runs", what: "start the engine", err: begin()}
	})
}

// done tells how it ended.
func (m *Model) done(d doneMsg) tea.Cmd {
	m.feed.Look()
	switch {
	case d.taken != nil:
		m.dialogs.Open(dialog.NewNotice("Not decided by you", dialog.TakenText(*d.taken, m.cfg.Now())))
		return nil
	case d.err != nil:
		text := d.what + ": " + d.err.Error()
		if hint := fault.HintOf(d.err); hint != "" {
			text += "\n\nTry: " + hint
		}
		m.dialogs.Open(dialog.NewNotice("That did not work", text))
	default:
		m.toast = d.said
	}
	switch {
	case d.open != "" && m.dialogs.Empty():
		return m.do(pages.Open{UID: d.open})
	case d.list && m.dialogs.Empty():
		m.show(atMigrations)
	}
	return nil
}
