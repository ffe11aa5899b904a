package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/plaintext"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/store"
)

// Exit codes of the verbs that judge.
const (
	exitDecision = 3
	exitBlocked  = 4
)

const exitCodes = "Exit codes: 0 nothing stands in the way, 1 something could not be looked at, 2 a wrong call,\n3 a person must decide something, 4 something blocks."

// verdictError is a verdict that scripts see by the exit code.
type verdictError struct {
	error
	code int
}

// judged is one VM as check says it.
type judged struct {
	Name    string         `json:"name"`
	Source  string         `json:"source"`
	VM      spec.VM        `json:"vm"`
	Verdict string         `json:"verdict"` // ready, warning, decision, blocked, failed
	Preview engine.Preview `json:"preview"`
}

func (a *app) check() *cobra.Command {
	var w wishes
	var file string
	var all, asJSON bool
	cmd := &cobra.Command{Use: "check [VM…]", Short: "Look at VMs, their source and the cluster, and say what stands in the way",
		Long: "Look at VMs by id or exact name (--all: every VM, -f: those of a document) as a migration would, before there is one.\nNothing is changed and nothing is recorded.\n\n" + exitCodes,
		RunE: a.withStore(func(ctx context.Context, s *store.Store, args []string) error {
			if asJSON {
				a.output = "json"
			}
			docs, left, err := a.wanted(ctx, s, args, file, all, w)
			if err != nil {
				return err
			}
			js, err := a.judge(ctx, s, docs)
			if err != nil {
				return err
			}
			if err := a.print(js, func(o io.Writer) {
				for _, j := range js {
					j.write(o)
				}
				if left > 0 {
					fmt.Fprintf(o, "%s of the cluster's own left out\n", plural(left, "agent VM"))
				}
			}); err != nil {
				return err
			}
			return verdictOf(js)
		})}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the VMs of a document, - for standard input")
	cmd.Flags().BoolVar(&all, "all", false, "every VM of the inventory")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as -o json")
	w.flags(cmd)
	return cmd
}

// wanted gives the documents that a verb is about, and how many VMs were left out.
func (a *app) wanted(ctx context.Context, s *store.Store, args []string, file string, all bool, w wishes) ([]spec.Document, int, error) {
	ways := 0
	for _, is := range []bool{file != "", all, len(args) > 0} {
		if is {
			ways++
		}
	}
	switch {
	case ways != 1:
		return nil, 0, usageError{errors.New("name VMs, or give --all, or -f FILE: one of them")}
	case file != "":
		docs, err := a.read(file)
		for i := range docs {
			if err == nil {
				docs[i], err = w.apply(docs[i])
			}
		}
		return docs, 0, err
	case !all:
		docs, err := a.documents(ctx, s, args, w)
		return docs, 0, err
	}
	list, err := a.inventory(ctx, s, false)
	if err != nil {
		return nil, 0, err
	}
	var kept []engine.Listed
	for _, l := range list {
		if !l.VM.Agent {
			kept = append(kept, l)
		}
	}
	docs, err := documentsOf(ctx, s, kept, w)
	return docs, len(list) - len(kept), err
}

// judge looks at the documents of one plan, live, from this process: an engine need not run.
func (a *app) judge(ctx context.Context, s *store.Store, docs []spec.Document) ([]judged, error) {
	e, err := newEngine(a.workspace, s, slog.New(slog.DiscardHandler), engineOptions{})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	js := make([]judged, len(docs))
	for i, p := range e.Foresee(ctx, docs) {
		d := docs[i]
		js[i] = judged{Name: d.Metadata.Name, Source: d.Spec.Source.Address, VM: d.Spec.Source.VM, Preview: p, Verdict: "ready"}
		answers := d.Spec.Answers
		switch {
		case preflight.Open(p.Findings, preflight.Blocker, answers) > 0:
			js[i].Verdict = "blocked"
		case p.Failure != "":
			js[i].Verdict = "failed"
		case preflight.Open(p.Findings, preflight.Decide, answers) > 0:
			js[i].Verdict = "decision"
		case preflight.Count(p.Findings, preflight.Warning) > 0:
			js[i].Verdict = "warning"
		}
	}
	return js, ctx.Err()
}

// verdictOf is the worst of all, for the exit code.
func verdictOf(js []judged) error {
	n := map[string]int{}
	for _, j := range js {
		n[j.Verdict]++
	}
	switch {
	case n["blocked"] > 0:
		return verdictError{fault.Hint(fmt.Errorf("%d of %s blocked", n["blocked"], plural(len(js), "VM")), "the findings say how to mend each"), exitBlocked}
	case n["failed"] > 0:
		return fmt.Errorf("%d of %s could not be looked at", n["failed"], plural(len(js), "VM"))
	case n["decision"] > 0:
		return verdictError{fault.Hint(fmt.Errorf("%d of %s for a person to decide", n["decision"], plural(len(js), "VM")), "the engine asks when the migration is made; or answer in the document, in spec.answers"), exitDecision}
	}
	return nil
}

func (j judged) write(w io.Writer) {
	name := j.VM.Name
	if name == "" {
		name = j.Name
	}
	fmt.Fprintf(w, "%s (%s of %s): %s\n", plaintext.Label(name), plaintext.Label(j.VM.Ref.String()), plaintext.Label(j.Source), j.Verdict)
	if j.Preview.Failure != "" {
		fmt.Fprintf(w, "  %s\n", plaintext.Text(j.Preview.Failure))
		if j.Preview.Hint != "" {
			fmt.Fprintf(w, "  try: %s\n", plaintext.Text(j.Preview.Hint))
		}
	}
	var lines [][]string
	for _, level := range []preflight.Level{preflight.Blocker, preflight.Decide, preflight.Warning, preflight.Info} {
		for _, f := range j.Preview.Findings {
			if f.Level != level {
				continue
			}
			fix := f.Fix
			if f.Remedy != nil {
				fix = strings.TrimSpace(fix + " Offered: " + f.Remedy.Label + ".")
			}
			lines = append(lines, []string{string(f.Level), f.Rule, f.Subject, f.Found, fix})
		}
	}
	if len(lines) > 0 {
		rows(w, "LEVEL | RULE | SUBJECT | FOUND | WHAT TO DO", lines)
	}
	fmt.Fprintln(w)
}

func (a *app) render() *cobra.Command {
	var w wishes
	var file string
	var all bool
	cmd := &cobra.Command{Use: "render [VM…]", Short: "Print what would be created in the cluster, as YAML",
		Long: "Print everything that a migration of VMs, by id or exact name (--all: every VM, -f: those of a document), would create in the cluster.\nNothing is changed. What stands in the way is said on standard error.\n\n" + exitCodes,
		RunE: a.withStore(func(ctx context.Context, s *store.Store, args []string) error {
			docs, _, err := a.wanted(ctx, s, args, file, all, w)
			if err != nil {
				return err
			}
			js, err := a.judge(ctx, s, docs)
			if err != nil {
				return err
			}
			for _, j := range js {
				if j.Preview.Manifest != "" {
					fmt.Fprintf(a.Out, "%s", a.shown([]byte(separated(j.Preview.Manifest))))
				}
				if j.Verdict != "ready" && j.Verdict != "warning" {
					j.write(a.Err)
				}
			}
			return verdictOf(js)
		})}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the VMs of a document, - for standard input")
	cmd.Flags().BoolVar(&all, "all", false, "every VM of the inventory")
	w.flags(cmd)
	return cmd
}

// separated makes YAML documents follow on others.
func separated(manifest string) string {
	if !strings.HasPrefix(manifest, "---\n") {
		manifest = "---\n" + manifest
	}
	if !strings.HasSuffix(manifest, "\n") {
		manifest += "\n"
	}
	return manifest
}

// dryRun says what an apply would meet and make.
func (a *app) dryRun(ctx context.Context, s *store.Store, docs []spec.Document) error {
	js, err := a.judge(ctx, s, docs)
	if err != nil {
		return err
	}
	if err := a.print(js, func(o io.Writer) {
		for _, j := range js {
			j.write(o)
			if j.Preview.Manifest != "" {
				fmt.Fprintf(o, "%s", a.shown([]byte(separated(j.Preview.Manifest))))
			}
			for _, n := range j.Preview.Notes {
				fmt.Fprintf(o, "# note: %s\n", plaintext.Label(n))
			}
			if j.Preview.Rehearsed {
				fmt.Fprintln(o, "# the cluster was asked by a dry run and would take all of this")
			}
			if x := j.Preview.Estimate; x != nil {
				fmt.Fprintf(o, "# estimate: %s\n\n", costs(*x))
			}
		}
		fmt.Fprintln(o, "dry run: nothing was started and nothing was changed")
	}); err != nil {
		return err
	}
	return verdictOf(js)
}

// costs says an estimate in one line.
func costs(x engine.Estimate) string {
	d := func(s float64) string { return time.Duration(s * float64(time.Second)).Round(time.Second).String() }
	text := fmt.Sprintf("at most %s to read of %s, at %s/s (%s): copy %s, delivery %s, boot %s; downtime about %s",
		bytesText(x.Read), bytesText(x.Capacity), bytesText(int64(x.Rate)), plaintext.Label(x.RateFrom), d(x.Copy), d(x.Deliver), d(x.Boot), d(x.Downtime))
	if x.Shutdown > 0 {
		text += fmt.Sprintf(", after up to %s for the guest to shut down", d(x.Shutdown))
	}
	return text
}
