package plan

import (
	"fmt"
	"strings"

	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/ui/pages"
	"landfall/ui/pages/draft"
	"landfall/ui/widget"
)

// namedAtMost is how many VMs are named one by one before a start; the rest is counted.
const namedAtMost = 30

// refusal says why a VM cannot be started, "" where it can.
func refusal(it *draft.Item) string {
	if err := it.Document.Validate(); err != nil {
		return strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	for _, level := range []preflight.Level{preflight.Blocker, preflight.Decide} {
		for _, f := range it.Findings() {
			if _, ok := it.Answer(f); f.Level != level || ok {
				continue
			}
			if level == preflight.Blocker {
				return fmt.Sprintf("%s blocks: %s", f.Rule, f.Found)
			}
			return fmt.Sprintf("%s is not decided: %s", f.Rule, f.Found)
		}
	}
	return ""
}

// start asks whether what can be started shall be, and says why the rest cannot.
func (p *Page) start() pages.Action {
	now := p.now()
	var docs []spec.Document
	var ready, left []string
	unseen, waiting, when := 0, 0, ""
	for i := range p.set.Items {
		it := &p.set.Items[i]
		if why := refusal(it); why != "" {
			left = append(left, it.VM.VM.Name+": "+why)
			continue
		}
		if it.Pending() && p.alive {
			waiting++
		}
		docs = append(docs, it.Document)
		to, how := it.Document.Spec.Destination, it.Document.Spec.Default()
		ready = append(ready, it.VM.VM.Name+" as "+to.Namespace+"/"+it.Name()+", "+how.Strategy.Type+", "+string(how.Source.PowerOffPolicy))
		if warm(it) {
			when = "; one that is moved Warm is powered off only at its cutover"
		}
		if it.Stale(now) || it.Preview() == nil || it.Preview().Failure != "" {
			unseen++
		}
	}
	if waiting > 0 {
		return pages.Say{Text: fmt.Sprintf("the engine is still looking at %s: start when it has", widget.Count(waiting, "VM", "VMs"))}
	}
	var b strings.Builder
	name := func(head string, names []string) {
		if len(names) == 0 {
			return
		}
		b.WriteString(head + "\n")
		for i, n := range names {
			if i == namedAtMost {
				fmt.Fprintf(&b, "  and %s more\n", widget.Thousands(len(names)-i))
				break
			}
			b.WriteString("  " + strings.Join(strings.Fields(n), " ") + "\n")
		}
	}
	name("Cannot start, p says what to do:", left)
	name(fmt.Sprintf("Start %s:", widget.Count(len(docs), "migration", "migrations")), ready)
	if unseen > 0 {
		fmt.Fprintf(&b, "%s not looked at, or the look is stale or failed: the rules are asked before anything is touched.\n", widget.Count(unseen, "VM was", "VMs were"))
	}
	one := pages.AskOne{Title: "Migrate " + widget.Count(len(p.set.Items), "VM", "VMs"), Text: strings.TrimSpace(b.String())}
	if len(docs) > 0 {
		one.Choices = []pages.Choice{{Label: "Start " + widget.Count(len(docs), "migration", "migrations"),
			Effect: "the engine begins; each source is powered off by its policy when its turn comes" + when,
			Take:   func() pages.Action { return pages.Start{Documents: docs} }}}
	} else {
		one.Choices = []pages.Choice{{Label: "See what stands in the way", Effect: "the pre-flight is shown", Take: func() pages.Action { return pages.AskPreflight{} }}}
	}
	return one
}
