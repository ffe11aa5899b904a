package widget

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"landfall/ui/theme"
)

func TestQuantities(t *testing.T) {
	for got, want := range map[string]string{
		Bytes(0):            "0 B",
		Bytes(1023):         "1023 B",
		Bytes(1024):         "1.0 KiB",
		Bytes(10189):        "10 KiB",
		Bytes(1<<20 - 1):    "1.0 MiB",
		Bytes(8 << 30):      "8.0 GiB",
		Bytes(62 << 40):     "62 TiB",
		Bytes(-1):           "unknown",
		Rate(0):             "",
		Rate(92 << 20):      "92 MiB/s",
		ETA(0):              "unknown",
		ETA(3700):           "1h01m",
		Span(59e9):          "59s",
		Span(61e9):          "1m01s",
		Span(49 * 3600e9):   "2d01h",
		Span(-time.Second):  "0s",
		Thousands(1234567):  "1,234,567",
		Thousands(-1234):    "-1,234",
		Thousands(-123):     "-123",
		Count(1, "VM", "s"): "1 VM",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBarIsFullOnlyAtTheEnd(t *testing.T) {
	th := theme.Default(true)
	for done, want := range map[int64]string{0: "----------", 1: "----------", 500: "#####-----", 999: "##########", 1000: "##########", 2000: "##########", -5: "----------"} {
		got := ansi.Strip(Bar(th, done, 1000, 10))
		if len(got) != 10 {
			t.Fatalf("%d: %d cells", done, len(got))
		}
		if done != 999 && got != want {
			t.Errorf("%d: %s, want %s", done, got, want)
		}
	}
	if n := Percent(999, 1000); n != 99 {
		t.Errorf("999 of 1000 is %d%%", n)
	}
	if n := Percent(1<<62-1, 1<<62); n != 99 && n != 100 {
		t.Errorf("nearly all is %d%%", n)
	}
}

func press(name string) tea.KeyPressMsg {
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

func TestTable(t *testing.T) {
	th := theme.Default(true)
	tb := Table{Sort: 0, Columns: []Column{{Title: "NAME", Min: 5, Want: 10, Flex: true}, {Title: "N", Min: 3, Want: 3, Right: true}, {Title: "RARE", Min: 6, Want: 6, Rank: 1}}}
	tb.SetRows(100)
	asked := map[int]bool{}
	draw := func(w, h int) string {
		clear(asked)
		return ansi.Strip(tb.View(th, w, h, func(row, col int) string { asked[row] = true; return fmt.Sprint(row) }, nil))
	}
	s := draw(30, 5)
	if len(asked) != 4 {
		t.Errorf("%d rows were asked for, 4 are seen", len(asked))
	}
	if !strings.Contains(s, "RARE") || strings.Contains(draw(14, 5), "RARE") {
		t.Error("the rare column must show when there is room, and only then")
	}
	tb.Press(press("G"))
	if s := draw(30, 5); !strings.Contains(s, "> 99") {
		t.Errorf("the last row is not seen:\n%s", s)
	}
	tb.SetRows(3)
	if tb.Cursor() != 2 {
		t.Errorf("the cursor is on %d of 3 rows", tb.Cursor())
	}
	tb.SetRows(0)
	if tb.Cursor() != -1 {
		t.Error("a cursor in an empty table")
	}
	draw(1, 1)
}

func TestLog(t *testing.T) {
	th := theme.Default(true)
	l := NewLog()
	lines := []string{"one", "two", "three", "four"}
	draw := func() string { return ansi.Strip(l.View(th, lines, 44, 3)) }
	if s := draw(); !strings.Contains(s, "four") || strings.Contains(s, "two") {
		t.Errorf("it does not follow:\n%s", s)
	}
	l.Update(press("k"))
	lines = append(lines, "five")
	if s := draw(); strings.Contains(s, "five") || !strings.Contains(s, "line 2 of 5") {
		t.Errorf("it runs away from who reads:\n%s", s)
	}
	l.Update(press("f"))
	if s := draw(); !strings.Contains(s, "five") {
		t.Errorf("it does not follow again:\n%s", s)
	}
	l.Update(press("/"))
	for _, r := range "tW" {
		l.Update(press(string(r)))
	}
	l.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	if s := draw(); !strings.Contains(s, "two") || !strings.Contains(s, "1 match") {
		t.Errorf("what is searched is not shown:\n%s", s)
	}
	if !l.Back() || l.Back() {
		t.Error("esc ends the search, once")
	}
	lines = append(lines, strings.Repeat("long ", 12))
	l.Update(press("w"))
	l.Update(press("f"))
	if s := draw(); !strings.Contains(s, "wrapped") || strings.Contains(s, "~") {
		t.Errorf("it does not wrap:\n%s", s)
	}
}

func TestTabsShowTheChosenOne(t *testing.T) {
	names := []string{"Now", "Steps", "Disks", "Conditions", "Findings", "Events", "Held", "Errors"}
	for w := 8; w < 80; w++ {
		for i, n := range names {
			s := Tabs(theme.Default(true), names, i, w)
			if ansi.StringWidth(s) != w {
				t.Fatalf("%d cells of %d", ansi.StringWidth(s), w)
			}
			if w > 14 && !strings.Contains(ansi.Strip(s), n) {
				t.Errorf("at %d %s is not seen: %q", w, n, ansi.Strip(s))
			}
		}
	}
}
