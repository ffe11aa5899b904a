package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/sources"
	"landfall/ui/cli/demo"
)

// readyForTheWord is what a warm migration waits for when only a person is missing.
const readyForTheWord = "ready: waiting for the word to cut over"

// running migrates a VM while its guest writes: it is followed in rounds, and stopped only at a person's word.
func (p story) running(ctx context.Context, list []engine.Listed) error {
	p.say("\n5. %s: it runs and writes while it is copied; the engine is killed in the middle; a person gives the word", demo.Writing)
	m, err := p.start(ctx, list, demo.Writing, func(d *spec.Document) {
		d.Spec.Strategy.Type = "Warm"
		d.Spec.Strategy.Warm = spec.Warm{ThresholdBytes: 2 << 20, RoundSeconds: 1}
	})
	if err != nil {
		return err
	}
	if m, err = p.until(ctx, m.UID, func(m engine.Migration) bool {
		return len(m.Status.Disks) > 0 && m.Status.Disks[0].ToCopy > 0 && m.Status.Disks[0].Copied >= m.Status.Disks[0].ToCopy/4
	}, engine.Completed); err != nil {
		return err
	}
	if err := p.kill(ctx, m); err != nil {
		return err
	}
	follow := func(want func(*warm.State) bool) (err error) {
		m, err = p.until(ctx, m.UID, func(m engine.Migration) bool {
			return m.Status.Phase.Terminal() || want(m.Status.Warm)
		}, engine.Completed)
		return err
	}
	if err := follow(func(w *warm.State) bool { return w.Waiting == readyForTheWord && w.Workers[0].Count >= 4 }); err != nil {
		return err
	}
	p.say("   %s; the source is %s", m.Status.Warm.Waiting, m.Status.Power)
	p.forecast(m.Status.Warm.Forecast)
	if err := p.assume(ctx, m); err != nil {
		return err
	}
	if err := follow(func(w *warm.State) bool {
		_, known := w.Forecast.Total()
		return known && w.Waiting == readyForTheWord
	}); err != nil {
		return err
	}
	p.forecast(m.Status.Warm.Forecast)
	p.say("   $ landfall cutover %s --confirm %s", m.UID[:8], m.VMName())
	word := p.a.cutover()
	word.SetArgs([]string{m.UID, "--confirm", m.VMName()})
	if err := word.ExecuteContext(ctx); err != nil {
		return err
	}
	if m, err = p.ended(ctx, m.UID, engine.Completed); err != nil {
		return err
	}
	if err := p.prove(ctx, m); err != nil {
		return err
	}
	measured, _, ok := m.Status.Times.Downtime(time.Now())
	if !ok || m.Status.Warm.Promised == nil {
		return errors.New("no downtime was promised, or none was measured")
	}
	p.say("   downtime promised at the word: %s; measured: %s", totalText(*m.Status.Warm.Promised), measured.Round(100*time.Millisecond))
	return p.noSnapshot(ctx, m)
}

// warm gives each round and each change of an online migration once.
func (t *told) warm(w *warm.State) (news []line) {
	if w == nil {
		return nil
	}
	for _, d := range w.Workers {
		for i, r := range d.Rounds {
			if r.Number > t.rounds {
				t.rounds = r.Number
				news = append(news, line{r.Started.Add(time.Duration(r.Seconds * float64(time.Second))), "  " + roundText(d, i)})
			}
		}
	}
	for _, c := range w.History[min(t.changes, len(w.History)):] {
		t.changes++
		text := fmt.Sprintf("  coordinator: %s → %s", c.From, c.To)
		if c.Worker >= 0 {
			text = fmt.Sprintf("  disk %d: %s → %s", c.Worker, c.From, c.To)
		}
		if c.Reason != "" {
			text += " (" + plaintext.Label(c.Reason) + ")"
		}
		news = append(news, line{c.Time, text})
	}
	return news
}

// roundText says what a round read, and how fast the guest changed the disk since the round before.
func roundText(d warm.Disk, i int) string {
	r := d.Rounds[i]
	s := fmt.Sprintf("round %d, %s: %s in %.1f s", r.Number, r.Kind, bytesText(r.Bytes), r.Seconds)
	if r.Reason != "" {
		s += ": " + plaintext.Label(r.Reason)
	}
	if r.Kind == warm.KindFull {
		return s + " by " + d.Reader
	}
	if i > 0 && !r.Taken.IsZero() {
		if dt := r.Taken.Sub(d.Rounds[i-1].Taken).Seconds(); dt > 0 {
			s += fmt.Sprintf("; the guest changes %s/s", bytesText(int64(float64(r.Bytes)/dt)))
		}
	}
	return s + "; the gap is " + bytesText(d.Gap)
}

// forecast says the parts of a forecast, and what is not known of it as such.
func (p story) forecast(f warm.Forecast) {
	p.say("   forecast of the downtime: %s", totalText(f))
	for _, x := range []struct {
		name string
		warm.Part
	}{{"catch-up", f.CatchUp}, {"conversion", f.Conversion}, {"delivery", f.Delivery}, {"boot", f.Boot}} {
		text := "unknown"
		if x.Known {
			text = fmt.Sprintf("%.1f s", x.Seconds)
		}
		p.say("     %-10s %-7s %s", x.name, text, plaintext.Label(x.From))
	}
}

func totalText(f warm.Forecast) string {
	total, known := f.Total()
	if !known {
		return "unknown"
	}
	return total.Round(100 * time.Millisecond).String()
}

// assume gives the running migration the figures that cannot be measured before its cutover, as the first chapter measured them.
func (p story) assume(ctx context.Context, m engine.Migration) error {
	like := p.done["web-01"]
	var began, sent time.Time
	for _, t := range like.Status.History {
		if t.To == engine.Importing {
			began = t.Time
		}
		if t.From == engine.Importing {
			sent = t.Time
		}
	}
	delivery, boot := sent.Sub(began).Seconds(), like.Status.Times.VMStarted.Sub(sent).Seconds()
	if delivery <= 0 || boot <= 0 {
		return fmt.Errorf("web-01 was delivered in %.1f s and started in %.1f s: nothing to reckon with", delivery, boot)
	}
	for i := 0; ; i++ {
		d := m.Document
		d.Spec.Strategy.Warm.Assume = spec.Assume{BootSeconds: int(math.Ceil(boot)),
			DeliveryBytesPerSecond: int64(float64(like.Status.Disks[0].Size) / delivery)}
		err := p.s.Change(ctx, m.UID, m.Generation, d, p.a.person())
		if err == nil {
			a := d.Spec.Strategy.Warm.Assume
			p.say("   given, as web-01 had it: delivery %s/s, boot %d s", bytesText(a.DeliveryBytesPerSecond), a.BootSeconds)
			return nil
		}
		if !errors.Is(err, engine.ErrStale) || i > 10 {
			return err
		}
		if m, err = p.s.Migration(ctx, m.UID); err != nil {
			return err
		}
	}
}

// noSnapshot asks the host itself whether anything of ours is left.
func (p story) noSnapshot(ctx context.Context, m engine.Migration) error {
	src, err := dialSource(ctx, m.Document.Spec.Source.Default(), false)
	if err != nil {
		return err
	}
	defer src.Close()
	all, err := src.(sources.Live).Snapshots(ctx, m.Status.Inventory.Ref)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		return fmt.Errorf("%d snapshots are left on the host: %+v", len(all), all)
	}
	p.say("   snapshots left on the host: none, of %d that were taken", m.Status.Warm.Generation)
	return nil
}
