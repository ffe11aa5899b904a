package app

import (
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"

	"landfall/ui/uitest"
)

var stages = map[string]uitest.Stage{"converging": uitest.Converging, "converged": uitest.Converged, "catching-up": uitest.CatchingUp, "delivering": uitest.Delivering, "ended": uitest.Ended}

func following(t *testing.T, at uitest.Stage, width, height int, opts ...option) *console {
	t.Helper()
	c := open(t, uitest.Following(clock, at), width, height, opts...)
	c.press("2", "enter")
	return c
}

func TestWarmScreens(t *testing.T) {
	for name, at := range stages {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			full := fmt.Sprintf("warm-%s-%dx%d", name, size[0], size[1])
			t.Run(full, func(t *testing.T) {
				uitest.Golden(t, full, following(t, at, size[0], size[1]).lines())
			})
		}
	}
}

func TestWarmAtEverySize(t *testing.T) {
	for name, at := range stages {
		c := following(t, at, 80, 24)
		for _, keys := range [][]string{{}, {"tab", "tab"}, {"shift+tab", "shift+tab", "c"}} {
			c.press(keys...)
			for _, w := range []int{1, 2, 7, 20, 40, 60, 71, 72, 80, 131} {
				for _, h := range []int{1, 3, 5, 10, 15, 24, 50} {
					c.send(tea.WindowSizeMsg{Width: w, Height: h})
					if c.frame(); t.Failed() {
						t.Fatalf("%s after %v", name, keys)
					}
				}
			}
			c.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		}
	}
}

func TestTheWordToCutOver(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(c *console)
		want string
	}{
		"typed and confirmed": {func(c *console) { c.press("c"); c.write("db-writes"); c.press("tab", "enter") }, "cutover"},
		"it starts on Cancel": {func(c *console) { c.press("c"); c.write("db-writes"); c.press("enter") }, nothing},
		"without the name":    {func(c *console) { c.press("c", "tab", "enter") }, nothing},
		"held":                {func(c *console) { c.press("o", "c"); c.write("db-writes"); c.press("tab", "enter") }, "change"},
		"held and taken back": {func(c *console) {
			c.press("o")
			c.read()
			c.shows("the cutover is held")
			c.press("o")
			c.read()
			c.hides("orders")
		}, "change, change"},
		"a limit": {func(c *console) {
			c.press("t", "backspace")
			c.write("80")
			c.press("enter")
			c.read()
			c.shows("at most 80 MiB/s")
		}, "change"},
		"a limit of no number": {func(c *console) { c.press("t", "backspace"); c.write("fast"); c.press("enter") }, nothing},
		"paused and let go again": {func(c *console) {
			c.press("z")
			c.read()
			c.shows("paused")
			c.press("z")
			c.read()
			c.hides("orders")
		}, "change, change"},
	} {
		t.Run(name, func(t *testing.T) {
			cons := following(t, uitest.Converged, 80, 24)
			c.do(cons)
			cons.said(c.want)
		})
	}
	t.Run("too late", func(t *testing.T) {
		c := following(t, uitest.CatchingUp, 80, 24)
		c.press("c", "o")
		c.said(nothing)
	})
	t.Run("read-only", func(t *testing.T) {
		c := following(t, uitest.Converged, 80, 24, readOnly)
		c.press("c", "o", "z")
		c.hides("c cut over")
		c.said(nothing)
	})
}
