package preflight_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"landfall/engine/preflight"
)

var update = flag.Bool("update", false, "write docs/rules.md")

// TestDocument keeps the rules in the documents the same as in the code.
func TestDocument(t *testing.T) {
	const path = "../../docs/rules.md"
	want := document()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(have), want); d != "" {
		t.Errorf("docs/rules.md is old (-file +code), write it with go test ./engine/preflight -run TestDocument -update:\n%s", d)
	}
}

func document() string {
	var b strings.Builder
	b.WriteString(`# Rules

What is judged before a migration touches anything. This page is written from the code: ` + "`go test ./engine/preflight -run TestDocument -update`" + `.

- **Blocker**: the migration does not start until it is mended.
- **Decision**: a person accepts it, or mends it; who did, and when, is recorded.
- **Warning** and **Info**: said, and kept in the report's findings.

A rule that could not be evaluated, because a fact could not be looked up, says "could not check" and why. It then counts as a
decision, never as a pass.

| rule | level | why it matters | what to do |
|---|---|---|---|
`)
	cell := strings.NewReplacer("|", `\|`, "\n", " ").Replace
	for _, r := range preflight.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.Level, cell(r.Why), cell(r.Fix))
	}
	return b.String()
}
