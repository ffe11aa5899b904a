package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/dustin/go-humanize"
	"sigs.k8s.io/yaml"

	"landfall/engine/plaintext"
)

// print writes v as the operator asked: table for people, json and yaml exact for scripts.
func (a *app) print(v any, table func(io.Writer)) error {
	switch a.output {
	case "table":
		table(a.Out)
		return nil
	case "json":
		b, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		_, err = a.Out.Write(append(plaintext.JSON(b), '\n'))
		return err
	case "yaml":
		b, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = a.Out.Write(a.shown(b))
		return err
	}
	return usageError{fmt.Errorf("--output %q is not table, json or yaml", a.output)}
}

// shown is text as it may be written: a terminal is shown nothing raw, a file or a pipe gets it exact.
func (a *app) shown(b []byte) []byte {
	if term.IsTerminal(a.Out.Fd()) {
		return []byte(plaintext.Text(string(b)))
	}
	return b
}

// rows writes aligned columns; every cell is cleaned.
func rows(w io.Writer, head string, lines [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.ReplaceAll(head, " | ", "\t"))
	for _, l := range lines {
		for i := range l {
			l[i] = plaintext.Label(l[i])
			if l[i] == "" {
				l[i] = "-"
			}
		}
		fmt.Fprintln(tw, strings.Join(l, "\t"))
	}
	_ = tw.Flush()
}

func bytesText(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

func ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return now.Sub(t).Round(time.Second).String()
}
