package report

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/targets"
)

// Markdown gives the report for people.
func (r Report) Markdown() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Migration %s: %s\n", cell(r.Name), cell(string(r.Phase)))
	line("| | |\n|---|---|")
	row := func(k, v string) {
		if v != "" {
			line("| %s | %s |", k, cell(v))
		}
	}
	row("VM", r.VM+" ("+r.Ref.String()+")")
	row("Source", r.Source)
	row("Target", r.Target)
	row("Virtual machine", r.Machine)
	row("Migration", r.UID)
	row("Asked for", stamp(r.Created)+" by "+r.CreatedBy)
	row("Downtime, measured", r.Downtime)
	row("Downtime, forecast at the cutover", r.Warm.forecast())
	if r.Warm != nil {
		row("Cut over", r.Warm.Word)
	}
	if off := r.Times.SourcePoweredOff; r.Downtime == "" && !off.IsZero() {
		row("Source seen off", stamp(off)+"; the target was not seen to run")
	}
	row("State", r.Message)
	line("\n## Disks\n")
	for _, d := range r.Disks {
		line("- disk %d (%s), %d bytes, %d of them data, reader %s", d.Index, cell(d.Label), d.Size, d.Data, orNone(cell(d.Reader)))
		line("  - read from the source: Merkle root %s%s", code(d.Root), map[bool]string{true: "; read twice and equal"}[d.Proved])
		if d.SHA256 != "" {
			line("  - SHA-256 of the whole image: %s", code(d.SHA256))
		}
		sent := code(d.Delivered)
		if d.Delivered == "" && d.Imported {
			sent = "fetched by the cluster, " + cell(d.Artifact)
		}
		line("  - delivered: %s into volume %s", sent, orNone(cell(d.Volume)))
		line("  - verdict: **%s**", d.Verdict)
	}
	section(line, "Checks", r.Checks, func(c targets.Result) string {
		return fmt.Sprintf("%s: passed %v — %s (%s)", cell(c.Check.Type), c.Passed, cell(c.Detail), stamp(c.When))
	})
	section(line, "Decisions", r.Decisions, func(d engine.Decision) string {
		if d.Answer == "" {
			return cell(d.Question) + " — nobody answered"
		}
		return fmt.Sprintf("%s — **%s** by %s from %s at %s", cell(d.Question), cell(d.Answer), cell(d.By), cell(d.From), stamp(d.AnsweredAt))
	})
	section(line, "Rounds", r.Warm.rounds(), cell)
	section(line, "Timeline", r.Timeline, func(t engine.Transition) string {
		return fmt.Sprintf("%s %s → %s %s", stamp(t.Time), cell(string(t.From)), cell(string(t.To)), cell(t.Reason))
	})
	section(line, "Not carried over or changed", r.Notes, cell)
	section(line, "Drift of the source", r.Drift, cell)
	section(line, "Errors met", r.Errors, func(f engine.Failure) string {
		return fmt.Sprintf("%s %s, attempt %d: %s", stamp(f.Time), cell(string(f.Phase)), f.Attempt, cell(f.Message))
	})
	section(line, "Kept", r.Kept, func(h engine.Held) string { return cell(h.String()) })
	line("\n## Left behind\n")
	switch {
	case !r.Phase.Terminal():
		line("The migration is not over; what it holds is listed by landfall status.")
	case len(r.Left) == 0:
		line("Nothing.")
	}
	for _, h := range r.Left {
		line("- %s: %s", cell(h.String()), orNone(cell(h.Note)))
	}
	return b.String()
}

func section[T any](line func(string, ...any), title string, rows []T, text func(T) string) {
	if len(rows) == 0 {
		return
	}
	line("\n## %s\n", title)
	for _, r := range rows {
		line("- %s", text(r))
	}
}

// cell cleans outside text and takes from it whatever Markdown would act on: it is shown as it reads, within its line and
// its table cell.
func cell(s string) string {
	rs := []rune(strings.TrimSpace(plaintext.Label(s)))
	var b strings.Builder
	digits := true // only digits so far: a dot would begin a list
	for i, r := range rs {
		next := ' '
		if i+1 < len(rs) {
			next = rs[i+1]
		}
		switch {
		case r == '<':
			b.WriteString("&lt;")
			continue
		case strings.ContainsRune("`*[]|~&>", r),
			r == '_' && (i == 0 || !wordy(rs[i-1]) || !wordy(next)),
			r == '\\' && next < unicode.MaxASCII && unicode.In(next, unicode.P, unicode.S),
			i == 0 && strings.ContainsRune("#+-=", r),
			i > 0 && digits && (r == '.' || r == ')'):
			b.WriteByte('\\')
		}
		digits = digits && unicode.IsDigit(r)
		b.WriteRune(r)
	}
	return b.String()
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// code shows a digest; whatever else stands there is outside text.
func code(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII || !wordy(r) }) {
		return orNone(cell(s))
	}
	return "`" + s + "`"
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
