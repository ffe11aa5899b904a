package keymap

import (
	"fmt"
	"strings"
)

// Document gives the keys as Markdown.
func Document() string {
	var b strings.Builder
	b.WriteString("# Keys of the console\n\n<!-- Made from ui/keymap; go test ./ui/keymap -update writes it. -->\n\n" +
		"Keys marked with * change something and are hidden by `--read-only`.\n")
	for _, g := range Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| key | does |\n|---|---|\n", g.Name)
		for _, k := range g.Bindings {
			star := ""
			if k.Changes {
				star = " *"
			}
			fmt.Fprintf(&b, "| `%s` | %s%s |\n", k.Help().Key, k.Help().Desc, star)
		}
	}
	return b.String()
}
