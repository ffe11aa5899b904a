package uitest

import (
	"time"

	"landfall/engine"
	"landfall/engine/warm"
)

// Stage is how far a warm migration of the tests got.
type Stage int

// The stages.
const (
	Converging Stage = iota
	Converged
	CatchingUp
	Delivering
	Ended
)

// Following is a desk with one warm migration at a stage, of a VM of two disks.
func Following(now func() time.Time, at Stage) *Desk {
	d := NewDesk(now)
	d.Heart = engine.Heartbeat{PID: 42, Host: "ops1", Version: "0.1.0", Started: Noon.Add(-time.Hour), Beat: Noon}
	d.VMs = append(d.VMs, VM(1, "db-writes"))
	m := d.Migrate("3a7e11", d.VMs[0], engine.Preparing, 30*time.Minute)
	m.Document.Spec.Strategy.Type = "Warm"
	st := &m.Status
	st.Sight, st.Seen = engine.Running, "rounds are made"
	const mib = 1 << 20
	o := warm.Options{Threshold: 64 * mib, Budget: 2 * time.Minute, MaxRounds: 10}
	st.Warm = &warm.State{Phase: warm.Active, Since: Noon.Add(-25 * time.Minute), Options: o}
	lease := &warm.Lease{Generation: 4, Name: warm.Name(m.UID, 4), Taken: Noon.Add(-40 * time.Second)}
	rounds := []warm.Round{{Number: 1, Kind: warm.KindFull, Started: Noon.Add(-20 * time.Minute), Seconds: 300, Bytes: 8 << 30}}
	for i, n := range []int64{900, 400, 180, 96} {
		began := Noon.Add(time.Duration(i-10) * time.Minute)
		rounds = append(rounds, warm.Round{Number: i + 2, Kind: warm.KindChanges, Started: began, Taken: began, Seconds: 12.5, Bytes: n * mib})
	}
	st.Warm.Hire([]int32{2000, 2001}, []int64{8 << 30, 16 << 30}, Noon.Add(-24*time.Minute))
	one, two := &st.Warm.Workers[0], &st.Warm.Workers[1]
	*one = warm.Disk{Index: 0, Key: 2000, Size: 8 << 30, Phase: warm.WorkerConverging, Since: Noon.Add(-9 * time.Minute), Lease: lease, Rounds: rounds, Count: 5, Gap: 96 * mib, Rate: 80 * mib, Written: 2 * mib}
	two.Queue, two.Full = 2, "our snapshot "+Hostile[0]+" was removed by somebody else"
	missing := warm.Part{From: "not measured in this migration, and no figure was given"}
	known := func(s float64) warm.Part { return warm.Part{Known: true, Seconds: s, From: "measured by rounds"} }
	st.Warm.Forecast = warm.Forecast{CatchUp: known(4), Conversion: known(0), Delivery: missing, Boot: missing}
	if at == Converging {
		return d
	}
	two.Phase, two.Queue, two.Full, two.Gap, two.Rate = warm.WorkerConverged, 0, "", 8*mib, 70*mib
	one.Phase, one.Gap = warm.WorkerConverged, 32*mib
	st.Warm.Phase, st.Warm.Since, st.Warm.Waiting = warm.PreparingTarget, Noon.Add(-3*time.Minute), "the operator's word to cut over "+Hostile[1]
	st.Warm.Forecast = warm.Forecast{CatchUp: known(4), Conversion: known(0), Delivery: known(40), Boot: known(30)}
	if at == Converged {
		return d
	}
	for i := range st.Warm.Workers {
		st.Warm.Workers[i].Phase, st.Warm.Workers[i].Since = warm.WorkerCatchingUp, Noon.Add(-20*time.Second)
	}
	promised := st.Warm.Forecast
	st.Warm.Phase, st.Warm.Since, st.Warm.Waiting, st.Warm.Promised, st.Warm.Word = warm.CatchingUp, Noon.Add(-20*time.Second), "", &promised, "ana "+Hostile[5]
	st.Times.SourcePoweredOff = Noon.Add(-20 * time.Second)
	if at == CatchingUp {
		return d
	}
	st.Phase, st.Warm.Phase = engine.Importing, warm.Completed
	for i := range st.Warm.Workers {
		k := &st.Warm.Workers[i]
		k.Phase, k.Lease, k.Gap, k.CaughtUp, k.Final = warm.WorkerCompleted, nil, 0, true, true
	}
	for i := range st.Disks {
		k := &st.Disks[i]
		k.Acquired, k.Artifact, k.Sent = true, &engine.Artifact{Format: "raw", Length: k.Size}, k.Size/4
	}
	if at == Delivering {
		return d
	}
	st.Phase = engine.Completed
	st.Times.VMStarted, st.Times.Completed = Noon.Add(70*time.Second), Noon.Add(80*time.Second)
	one.Rounds = append(one.Rounds, warm.Round{Number: 6, Kind: warm.KindFinal, Started: Noon.Add(-10 * time.Second), Seconds: 2, Bytes: 40 * mib})
	one.Count = 6
	for i := range st.Disks {
		st.Disks[i].Imported = true
	}
	return d
}
