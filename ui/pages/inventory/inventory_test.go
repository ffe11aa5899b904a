package inventory

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/engine/preflight"
	"landfall/ui/feed"
	"landfall/ui/pages"
	"landfall/ui/theme"
	"landfall/ui/uitest"
)

func clock() time.Time { return uitest.Noon }

// shown opens the page over a desk.
func shown(t testing.TB, d *uitest.Desk, verdict pages.Verdict) *Page {
	t.Helper()
	p := New(theme.Default(false), verdict, false, "no source")
	f := feed.New(d, func() bool { return true }, clock)
	aside(p, p.Set(f.Read(t.Context())))
	return p
}

// aside does at once what the page wants done aside.
func aside(p *Page, a pages.Action) {
	if w, ok := a.(pages.Aside); ok {
		p.Update(w.Work())
	}
}

func press(p *Page, keys string) (last pages.Action) {
	for _, r := range keys {
		k := tea.KeyPressMsg{Code: r, Text: string(r)}
		switch r {
		case '\n':
			k = tea.KeyPressMsg{Code: tea.KeyEnter}
		case ' ':
			k = tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
		}
		last = p.Update(k)
		aside(p, last)
	}
	return last
}

func names(p *Page) string {
	var s []string
	for _, i := range p.rows {
		s = append(s, p.vm(i).VM.Name)
	}
	return strings.Join(s, " ")
}

func TestFilter(t *testing.T) {
	d := uitest.NewDesk(clock)
	for i, n := range []string{"web-01", "web-02", "db-01", "Windows-Exchange-Backup", "mail"} {
		d.VMs = append(d.VMs, uitest.VM(i, n))
	}
	for typed, want := range map[string]string{
		"":                       "db-01 mail web-01 web-02 Windows-Exchange-Backup",
		"web":                    "web-01 web-02 Windows-Exchange-Backup", // what holds the word is first
		"WEB":                    "web-01 web-02 Windows-Exchange-Backup",
		"w01":                    "web-01",
		"!web":                   "db-01 mail Windows-Exchange-Backup",
		"power:on":               "mail web-01 web-02 Windows-Exchange-Backup",
		"power:off":              "db-01",
		"!power:off web":         "web-01 web-02 Windows-Exchange-Backup",
		"ds:ds3":                 "db-01",
		"!ds:ds1":                "db-01 web-02 Windows-Exchange-Backup",
		"verdict:blocked":        "mail",
		"verdict:ready":          "web-01 web-02 Windows-Exchange-Backup",
		"verdict:warn":           "db-01",
		"!verdict:ready":         "db-01 mail",
		"snap:yes":               "mail",
		"migration:none power:o": "db-01 mail web-01 web-02 Windows-Exchange-Backup",
		"nosuchkey:x":            "",
	} {
		t.Run(typed, func(t *testing.T) {
			p := shown(t, d, uitest.Verdict)
			press(p, "/"+typed+"\n")
			if got := names(p); got != want {
				t.Errorf("/%s lists %q, want %q", typed, got, want)
			}
		})
	}
}

func TestEscDropsTheFilterThenTheMarks(t *testing.T) {
	p := shown(t, uitest.World(clock), uitest.Verdict)
	press(p, " /web\n")
	for i, want := range []bool{true, true, false} {
		if got := p.Back(); got != want {
			t.Errorf("esc %d meant something: %t, want %t", i+1, got, want)
		}
	}
	if len(p.rows) != len(p.snap.Inventory) || len(p.marks) != 0 {
		t.Error("the filter or the marks are still there")
	}
}

func TestSortOnEveryColumn(t *testing.T) {
	p := shown(t, uitest.World(clock), uitest.Verdict)
	for i := range columns {
		for row := 1; row < len(p.rows); row++ {
			if columns[i].order(p, p.rows[row-1], p.rows[row]) > 0 {
				t.Fatalf("by %s row %d is out of order", columns[i].Title, row)
			}
		}
		press(p, "S")
		for row := 1; row < len(p.rows); row++ {
			if columns[i].order(p, p.rows[row-1], p.rows[row]) < 0 {
				t.Fatalf("by %s turned round row %d is out of order", columns[i].Title, row)
			}
		}
		press(p, "s")
		if want := (i + 1) % len(columns); p.table.Sort != want {
			t.Fatalf("sorted by column %d, want %d", p.table.Sort, want)
		}
	}
}

func TestMarks(t *testing.T) {
	d := uitest.Many(clock, 10)
	for name, c := range map[string]struct {
		keys string
		want int
	}{
		"none means the one under the cursor": {"jj", 1},
		"space":                               {" j ", 2},
		"space twice on one":                  {" k k ", 1},
		"a range":                             {" jjjv", 5},
		"a range upwards":                     {"jjjj kkkkv", 4},
		"all":                                 {"a", 10},
		"all and none":                        {"aa", 1},
		"all that the filter lists":           {"/web\na", 3},
	} {
		t.Run(name, func(t *testing.T) {
			p := shown(t, d, uitest.Verdict)
			press(p, c.keys)
			if got := len(p.chosen()); got != c.want {
				t.Errorf("%d chosen, want %d", got, c.want)
			}
		})
	}
}

func TestTotals(t *testing.T) {
	p := shown(t, uitest.Many(clock, 3), uitest.Verdict)
	press(p, "a")
	if got, want := p.totals(), "3 marked: 6 CPU, 6.0 GiB memory, 6 disks, 88 GiB"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The cursor and the marks stay on their VMs when the list is taken anew.
func TestNewListingKeepsThePlace(t *testing.T) {
	d := uitest.Many(clock, 50)
	p := shown(t, d, uitest.Verdict)
	press(p, "jjjjj ")
	under, _ := p.under()
	d.Edit(func() {
		d.VMs = append([]engine.Listed{uitest.VM(900, "aaa"), uitest.VM(901, "aab")}, d.VMs...)
	})
	f := feed.New(d, func() bool { return true }, clock)
	s := f.Read(t.Context())
	s.Listing = 2
	p.Set(s)
	if now, _ := p.under(); now != under {
		t.Errorf("the cursor was on %v and is on %v", under, now)
	}
	if len(p.marks) != 1 {
		t.Errorf("%d marks", len(p.marks))
	}
}

func TestMigrateLeavesOutWhatIsUnderWay(t *testing.T) {
	p := shown(t, uitest.World(clock), uitest.Verdict)
	press(p, "/web-01\n")
	if a, ok := press(p, "m").(pages.Say); !ok || !strings.Contains(a.Text, "already") {
		t.Errorf("got %#v", a)
	}
	p.Back()
	a, ok := press(p, "am").(pages.AskPlan)
	if !ok {
		t.Fatal("no plan")
	}
	for _, l := range a.VMs {
		if ph := p.phase(l); ph != "" && !ph.Terminal() {
			t.Errorf("%q is offered while it is %s", l.VM.Name, ph)
		}
	}
}

// Only what is seen is judged and drawn.
func TestOnlyVisibleRowsAreJudged(t *testing.T) {
	n := 0
	p := shown(t, uitest.Many(clock, 5000), func(engine.Listed) (string, preflight.Level) { n++; return "ready", "" })
	for range 10 {
		p.View(120, 40)
	}
	if n > 40 {
		t.Errorf("%d VMs were judged for 40 lines", n)
	}
}

func BenchmarkView5000(b *testing.B) {
	p := shown(b, uitest.Many(clock, 5000), uitest.Verdict)
	for b.Loop() {
		p.View(120, 40)
	}
}

func BenchmarkFilter5000(b *testing.B) {
	p := shown(b, uitest.Many(clock, 5000), uitest.Verdict)
	for b.Loop() {
		p.filter = parse("web 01")
		p.list(true)
	}
}

func BenchmarkSort5000(b *testing.B) {
	p := shown(b, uitest.Many(clock, 5000), uitest.Verdict)
	for b.Loop() {
		p.table.Desc = !p.table.Desc
		p.list(true)
	}
}
