package report

import (
	"strings"
	"testing"
	"time"

	"landfall/engine"
	"landfall/engine/warm"
)

func TestTheForecastStandsBesideWhatWasMeasured(t *testing.T) {
	known := warm.Part{Known: true, Seconds: 4, From: "measured"}
	for name, tc := range map[string]struct {
		promised warm.Forecast
		want     string
	}{
		"all known":    {warm.Forecast{CatchUp: known, Conversion: known, Delivery: known, Boot: known}, "| 16s |"},
		"boot unknown": {warm.Forecast{CatchUp: known, Conversion: known, Delivery: known, Boot: warm.Part{From: "no figure"}}, "| at least 12s; boot: no figure |"},
	} {
		t.Run(name, func(t *testing.T) {
			off := time.Unix(1e9, 0)
			st := engine.Status{Phase: engine.Completed, Times: engine.Times{SourcePoweredOff: off, VMStarted: off.Add(15 * time.Second)},
				Warm: &warm.State{Phase: warm.Completed, Word: "ann", Promised: &tc.promised,
					Workers: []warm.Disk{{Rounds: []warm.Round{{Number: 1, Kind: warm.KindFull, Bytes: 100, Seconds: 2, Rate: 50, Reason: "lost | <b>"}}}}}}
			r := Report{Phase: st.Phase, Warm: online(st)}
			text := r.Markdown()
			for _, want := range []string{"| Downtime, forecast at the cutover " + tc.want, "disk 0, round 1 (full): 100 bytes in 2s, 50 bytes a second; read whole again: lost \\| &lt;b\\>"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
		})
	}
	if text := (Report{}).Markdown(); strings.Contains(text, "forecast") || strings.Contains(text, "Rounds") {
		t.Error("a cold migration has a forecast of its cutover")
	}
}
