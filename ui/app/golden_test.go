package app

import (
	"fmt"
	"testing"
	"time"

	"landfall/ui/uitest"
)

func clock() time.Time { return uitest.Noon }

// The pages, at the three sizes, over a world whose names are hostile.
func TestScreens(t *testing.T) {
	screens := []struct {
		name string
		keys []string
	}{
		{"inventory", nil},
		{"inventory-hostile", []string{"G", "up", "up", "space"}},
		{"migrations", []string{"2"}},
		{"migration", []string{"2", "down", "down", "enter"}},
		{"migration-steps", []string{"2", "down", "down", "enter", "tab"}},
		{"migration-events", []string{"2", "down", "down", "enter", "/", "enter"}},
		{"migration-asks", []string{"2", "enter"}},
		{"migration-report", []string{"2", "G", "up", "enter"}},
		{"decisions", []string{"3"}},
		{"help", []string{"?"}},
		{"dialog-decision", []string{"3", "down", "d", "down", "down"}},
		{"dialog-danger", []string{"3", "down", "d", "down", "down", "enter"}},
		{"preflight", []string{"/", "d", "b", "-", "enter", "p"}},
		{"preflight-hostile", []string{"G", "up", "space", "up", "space", "p"}},
		{"plan", []string{"/", "d", "b", "-", "enter", "m"}},
		{"plan-yaml", []string{"/", "d", "b", "-", "enter", "m", "tab"}},
		{"plan-hostile", []string{"G", "space", "up", "up", "space", "up", "space", "m"}},
		{"dialog-finding", []string{"/", "d", "b", "-", "enter", "p", "enter"}},
		{"dialog-start", []string{"/", "b", "u", "i", "l", "d", "enter", "m", "enter"}},
		{"dialog-refused", []string{"/", "d", "b", "-", "enter", "m", "enter"}},
		{"dialog-cancel", []string{"2", "down", "down", "x"}},
	}
	for _, size := range [][2]int{{80, 24}, {60, 15}, {120, 40}} {
		for _, s := range screens {
			t.Run(fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1]), func(t *testing.T) {
				c := open(t, uitest.World(clock), size[0], size[1])
				c.press(s.keys...)
				uitest.Golden(t, fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1]), c.lines())
			})
		}
	}
	t.Run("inventory-ascii-80x24", func(t *testing.T) {
		c := open(t, uitest.World(clock), 80, 24, ascii)
		uitest.Golden(t, "inventory-ascii-80x24", c.lines())
	})
	t.Run("migrations-read-only-80x24", func(t *testing.T) {
		c := open(t, uitest.World(clock), 80, 24, readOnly)
		c.press("2")
		uitest.Golden(t, "migrations-read-only-80x24", c.lines())
	})
	t.Run("small-40x10", func(t *testing.T) {
		c := open(t, uitest.World(clock), 40, 10)
		uitest.Golden(t, "small-40x10", c.lines())
	})
	t.Run("empty-80x24", func(t *testing.T) {
		c := open(t, uitest.NewDesk(clock), 80, 24)
		c.alive = false
		c.read()
		uitest.Golden(t, "empty-80x24", c.lines())
	})
}
