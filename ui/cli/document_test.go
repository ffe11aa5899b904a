package cli

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"landfall/targets/kubevirt"
)

var update = flag.Bool("update", false, "write the generated parts of the documents")

const operations = "../../docs/operations.md"

// TestOperationsListTheAccess keeps the verbs that an account needs the same in the document as in the code.
func TestOperationsListTheAccess(t *testing.T) {
	b, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	have := string(b)
	const mark = "<!-- table: access -->\n"
	before, rest, ok := strings.Cut(have, mark)
	_, after, ok2 := strings.Cut(rest, "<!-- end -->")
	if !ok || !ok2 {
		t.Fatalf("no table of access in %s", operations)
	}
	want := before + mark + accessTable() + "<!-- end -->" + after
	if *update {
		if err := os.WriteFile(operations, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want {
		t.Errorf("%s is not what the code needs: go test ./ui/cli -run TestOperations -update", operations)
	}
}

func accessTable() string {
	var b strings.Builder
	b.WriteString("| resource | verbs | where | delivery | without it | why |\n|---|---|---|---|---|---|\n")
	for _, a := range kubevirt.Accesses {
		where, without, only := "namespace", "blocked", "any"
		if a.Cluster {
			where = "cluster"
		}
		if a.Optional {
			without = "a fact stays unknown"
		}
		if len(a.Only) > 0 {
			only = string(a.Only[0])
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", a.Name(), strings.Join(a.Verbs, ", "), where, only, without, a.Why)
	}
	return b.String()
}
