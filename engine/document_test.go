package engine_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"landfall/engine"
	"landfall/engine/warm"
)

var update = flag.Bool("update", false, "write the generated parts of the documents")

const architecture = "../docs/ARCHITECTURE.md"

// TestDocuments keeps the phase tables in the documents the same as in the code.
func TestDocuments(t *testing.T) {
	b, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	have := string(b)
	want := have
	for name, table := range map[string]string{"migration": migrationTable(), "coordinator": warmTable(warm.Coordinator), "worker": warmTable(warm.Worker)} {
		want = replaced(t, want, "<!-- table: "+name, table)
	}
	if *update {
		if err := os.WriteFile(architecture, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want {
		t.Errorf("%s does not show the tables as they are: go test ./engine -run TestDocuments -update", architecture)
	}
}

// replaced puts text between the line that starts with mark and the next end line.
func replaced(t *testing.T, doc, mark, text string) string {
	t.Helper()
	before, rest, ok := strings.Cut(doc, mark)
	head, rest, ok2 := strings.Cut(rest, "\n")
	_, after, ok3 := strings.Cut(rest, "<!-- end -->")
	if !ok || !ok2 || !ok3 {
		t.Fatalf("no %q in %s", mark, architecture)
	}
	return before + mark + head + "\n" + text + "<!-- end -->" + after
}

func migrationTable() string {
	var b strings.Builder
	fmt.Fprintln(&b, "| phase | next | must be true to leave it | patience | rests | stuck: first look at |\n|---|---|---|---|---|---|")
	for _, r := range engine.Table {
		var rests []string
		if r.Retry {
			rests = append(rests, "retry")
		}
		if r.Ask {
			rests = append(rests, "person")
		}
		if r.Once {
			rests = append(rests, "irreversible")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.Phase, r.Next, r.Goal, r.Patience, strings.Join(rests, ", "), r.Stuck)
	}
	return b.String()
}

func warmTable[P ~string](t warm.Table[P]) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| phase | next | must be true to leave it | patience | stuck: first look at |\n|---|---|---|---|---|")
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Phase, r.Next, r.Goal, r.Patience, r.Stuck)
	}
	return b.String()
}
