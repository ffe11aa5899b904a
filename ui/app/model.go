package app

import (
	"context"
	"runtime/debug"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"landfall/ui/dialog"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/pages/decisions"
	"landfall/ui/pages/draft"
	"landfall/ui/pages/help"
	"landfall/ui/pages/inventory"
	"landfall/ui/pages/migration"
	"landfall/ui/pages/migrations"
	"landfall/ui/pages/plan"
	"landfall/ui/pages/preflight"
	"landfall/ui/term"
	"landfall/ui/theme"
)

// What comes in besides keys.
type (
	snapshotMsg struct{ snap *feed.Snapshot }
	lostMsg     struct{} // the terminal is gone
	crashMsg    struct {
		reason any
		stack  []byte
	}
	tickMsg  struct{ n int }
	askMsg   struct{ ask pages.AskOne }
	asideMsg struct {
		to  pages.Page
		msg tea.Msg
	}
)

// place is a page.
type place int

const (
	atInventory place = iota
	atMigrations
	atDecisions
	atHelp
	atMigration
	atPreflight
	atPlan
	places
)

// groups are the keys of the pages, for the help.
var groups = [places]string{
	atInventory: keymap.OnInventory.Name, atMigrations: keymap.OnList.Name, atDecisions: keymap.OnDecisions.Name,
	atMigration: keymap.OnMigration.Name, atPreflight: keymap.OnPreflight.Name, atPlan: keymap.OnPlan.Name, atHelp: keymap.Moving.Name,
}

// Model is the console. It is the one tea.Model.
type Model struct {
	ctx  context.Context // the life of the console, for work aside
	cfg  Config
	gate term.Gate
	th   theme.Theme
	feed *feed.Feed

	width, height int
	now           time.Time // as it is drawn; moves with keys, snapshots and ticks
	ticks         int       // the tick that is awaited
	after         func(time.Duration, func(time.Time) tea.Msg) tea.Cmd
	snap          *feed.Snapshot

	pages [places]pages.Page
	one   *migration.Page
	help  *help.Page
	check *preflight.Page
	plan  *plan.Page
	draft *draft.Set // the VMs that check and plan are about
	at    place
	came  []place // where back leads

	dialogs dialog.Stack
	toast   string
	leaving time.Time // of the first ctrl+c
	quit    bool
	lost    bool
	crash   *crashMsg
}

func newModel(ctx context.Context, cfg Config, gate term.Gate) *Model {
	m := &Model{ctx: ctx, cfg: cfg, gate: gate, th: theme.Default(gate.ASCII), width: 80, height: 24, now: cfg.Now(), after: tea.Tick, snap: &feed.Snapshot{}}
	m.feed = feed.New(cfg.Desk, cfg.EngineAlive, cfg.Now)
	clock := func() time.Time { return m.now }
	m.one = migration.New(m.th, clock, cfg.ReadOnly)
	m.check = preflight.New(m.th, clock, cfg.ReadOnly)
	m.plan = plan.New(m.th, clock, cfg.ReadOnly)
	m.draft = &draft.Set{}
	m.help = help.New(m.th, cfg.ReadOnly)
	m.pages = [places]pages.Page{
		atInventory:  inventory.New(m.th, cfg.Verdict, cfg.ReadOnly, cfg.NoSource),
		atMigrations: migrations.New(m.th, clock, cfg.ReadOnly),
		atDecisions:  decisions.New(m.th, clock, cfg.ReadOnly),
		atHelp:       m.help,
		atMigration:  m.one,
		atPreflight:  m.check,
		atPlan:       m.plan,
	}
	return m
}

func (m *Model) page() pages.Page { return m.pages[m.at] }

// Init asks the terminal for its background and for synchronized output, which the library leaves off over SSH. Neither is
// waited for.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, tea.Raw(ansi.RequestModeSynchronizedOutput))
}

// Update takes a message. A panic ends the console in order.
func (m *Model) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	defer func() {
		if r := recover(); r != nil {
			m.crash = &crashMsg{r, debug.Stack()}
			cmd = tea.Quit
		}
	}()
	return m, m.update(msg)
}

func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		if m.width <= 0 || m.height <= 0 {
			m.width, m.height = 80, 24
		}
	case tea.BackgroundColorMsg:
		m.th = theme.New(msg.IsDark(), m.gate.ASCII)
		for _, p := range m.pages {
			p.Theme(m.th)
		}
	case lostMsg:
		m.lost, m.quit = true, true
		return tea.Quit
	case crashMsg:
		m.crash = &msg
		return tea.Quit
	case snapshotMsg:
		return m.set(msg.snap)
	case tickMsg:
		if msg.n == m.ticks {
			m.now = m.cfg.Now()
			return m.tick()
		}
	case asideMsg:
		return m.do(msg.to.Update(msg.msg))
	case dialog.Taken:
		m.dialogs.Update(msg, m.cfg.Now())
	case doneMsg:
		return m.done(msg)
	case askMsg:
		return m.do(msg.ask)
	case tea.PasteMsg:
		return m.paste(msg)
	case tea.KeyPressMsg:
		m.now = m.cfg.Now()
		return m.press(msg)
	}
	return nil
}

// set takes a snapshot to every page and to the dialogs.
func (m *Model) set(s *feed.Snapshot) tea.Cmd {
	m.snap, m.now = s, m.cfg.Now()
	var cmds []tea.Cmd
	for _, p := range m.pages {
		cmds = append(cmds, m.doFor(p, p.Set(s)))
	}
	cmds = append(cmds, m.do(m.dialogs.Set(s, m.now)), m.tick())
	return tea.Batch(cmds...)
}

// tick asks for the next drawing of clocks: every second while something moves, rarely while something waits, and not at
// all when all has ended.
func (m *Model) tick() tea.Cmd {
	every := time.Duration(0)
	for _, l := range m.snap.Lines {
		if !l.Phase.Terminal() {
			every = 30 * time.Second
		}
	}
	if m.snap.Moving() {
		every = time.Second
	}
	m.ticks++
	if every == 0 {
		return nil
	}
	n := m.ticks
	return m.after(every, func(time.Time) tea.Msg { return tickMsg{n} })
}

// show goes to a page and remembers where from.
func (m *Model) show(to place) {
	if to == m.at {
		return
	}
	if n := len(m.came); n > 0 && m.came[n-1] == to { // between pre-flight and plan one goes to and fro
		m.came, m.at = m.came[:n-1], to
		m.follow()
		return
	}
	if to >= atHelp {
		m.came = append(m.came, m.at)
	} else {
		m.came = nil
	}
	m.at = to
	m.follow()
}

// back goes to where one came from.
func (m *Model) back() {
	if n := len(m.came); n > 0 {
		m.at, m.came = m.came[n-1], m.came[:n-1]
		m.follow()
	}
}

// follow tells the feed which migration is wanted in full.
func (m *Model) follow() {
	uid := ""
	if m.at == atMigration {
		uid = m.one.UID()
	}
	m.feed.Watch(uid)
}
