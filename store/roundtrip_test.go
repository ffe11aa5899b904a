package store_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/secret"
	"landfall/engine/spec"
	"landfall/engine/warm"
)

// filler sets every field that it can reach to a value of its own, so that a field that is lost is seen.
type filler struct{ n int64 }

func (f *filler) fill(t testing.TB, v reflect.Value) {
	f.n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(start.Add(time.Duration(f.n) * 1000000007)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(f.n)
	case reflect.Float64:
		v.SetFloat(float64(f.n) / 7)
	case reflect.String:
		v.SetString(fmt.Sprintf("ünï \x00\u202e'\"%%<&%d", f.n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(t, v.Index(0))
		f.fill(t, v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(t, key)
		f.fill(t, value)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" { // said not to be kept
				f.fill(t, v.Field(i))
			}
		}
	default:
		t.Fatalf("do not know how to fill a %s", v.Type())
	}
}

func filled[T any](t testing.TB) T {
	t.Helper()
	var v T
	new(filler).fill(t, reflect.ValueOf(&v).Elem())
	return v
}

// fullDocument has every field set and is valid.
func fullDocument(t testing.TB) spec.Document {
	d := filled[spec.Document](t)
	d.APIVersion, d.Kind = spec.APIVersion, spec.Kind
	s := &d.Spec
	s.Source.Type, s.Source.Address, s.Source.PowerOffPolicy = "vsphere", "https://esx1.example:8443", spec.Graceful
	s.Source.Password = secret.Ref{Command: []string{"pass", "show", "esxi"}}
	s.Source.NBD = spec.NBD{Command: []string{"nbdkit", "--unix={socket}"}}
	s.Source.TLS, s.Destination.UploadProxy.TLS = spec.TLS{CAFile: "/etc/ca.pem"}, spec.TLS{CAFile: "/etc/proxy.pem"}
	s.Destination.Namespace, s.Destination.VMName, s.Destination.UploadProxy.URL = "shop", "web", "https://proxy.example"
	s.Destination.RunStrategy, s.Destination.Firmware, s.Destination.ServeAddress = "Always", "efi", "10.0.0.1:8443"
	s.Strategy.Type, s.Strategy.Warm.ChangeTracking = "Warm", spec.EnableTracking
	s.Strategy.Warm.CutOver = false // a hold beside it takes it back
	s.Strategy.Conversion, s.Strategy.Delivery, s.Strategy.Verify = spec.ConvertQemuImg, spec.DeliverHTTP, "proved"
	s.Destination.BootDisk, s.Destination.TimeZone = "scsi0:1", "Europe/Berlin"
	for i := range s.Answers {
		s.Answers[i].Answer = spec.Fix
	}
	for i := range s.Storage.Mappings {
		s.Storage.Mappings[i].VolumeMode = "Block"
		s.Storage.Mappings[i].AccessModes = []string{"ReadWriteMany"}
	}
	for i := range s.Network.Mappings {
		m := &s.Network.Mappings[i]
		m.Type, m.Binding, m.Name = "Multus", "bridge", "nets/blue"
	}
	for i := range s.Validation.Checks {
		c := &s.Validation.Checks[i]
		c.Type, c.Path, c.Port, c.ExpectStatus = "HTTP", "/ready", 80, 200
	}
	s.CleanupPolicy = "KeepStaging"
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	return d
}

func same(t testing.TB, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s is not what was written (-written +read):\n%s", what, d)
	}
}

func TestEveryFieldOfAMigrationComesBack(t *testing.T) {
	dir := t.TempDir() + "/workspace"
	s := open(t, dir)
	doc := fullDocument(t)
	m := must(s.Apply(t.Context(), doc, ann))(t)
	same(t, "document", doc, m.Document)

	m.Status = filled[engine.Status](t)
	m.Status.Phase = engine.Importing
	m.Status.Options.Source.Password = secret.Ref{Env: "ESX"}
	want := m
	got := commit(t, s, engine.Checkpoint{Migration: m})
	want.Version++
	same(t, "migration", want, got)

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	same(t, "migration after reopening", want, must(s.Migration(t.Context(), m.UID))(t))
	same(t, "active migrations", []engine.Migration{want}, must(s.Active(t.Context()))(t))
	same(t, "found migration", want, must(s.Find(t.Context(), m.UID[:8]))(t))
}

func TestEveryFieldOfTheRestComesBack(t *testing.T) {
	s := fresh(t)
	m := applied(t, s, 1)
	m.Status.Phase = engine.Preparing
	d, e, h := filled[engine.Decision](t), filled[engine.Event](t), filled[engine.Held](t)
	commit(t, s, engine.Checkpoint{Migration: m, Events: []engine.Event{e}, Hold: []engine.Held{h}, Ask: []engine.Decision{d}})

	e.Migration, h.Migration, d.Migration = m.UID, m.UID, m.UID
	e.Seq = 1
	d.Version, d.Answer, d.By, d.From, d.AnsweredAt, d.Closed = 1, "", "", "", time.Time{}, time.Time{} // of a new question
	same(t, "event", []engine.Event{e}, must(s.Events(t.Context(), m.UID, 0, 10))(t))
	same(t, "held", []engine.Held{h}, must(s.Held(t.Context(), m.UID))(t))
	same(t, "decision", []engine.Decision{d}, must(s.Decisions(t.Context(), m.UID))(t))

	d = must(s.Answer(t.Context(), d.ID, 1, d.Options[1].ID, bob))(t)
	if d.Answer == "" || d.By != bob.Name || d.From != bob.From || d.AnsweredAt.IsZero() || d.Version != 2 {
		t.Errorf("the answer is not told: %+v", d)
	}
	same(t, "answered decision", []engine.Decision{d}, must(s.Decisions(t.Context(), m.UID))(t))

	b := filled[engine.Heartbeat](t)
	if err := s.Heartbeat(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	same(t, "heartbeat", b, must(s.Beat(t.Context()))(t))

	p := filled[engine.Endpoint](t)
	p.Source.Password = secret.Ref{File: "/etc/landfall/esx1"}
	if err := s.PutEndpoint(t.Context(), p, ann); err != nil {
		t.Fatal(err)
	}
	vms := filled[[]machine.VM](t)
	if err := s.PutInventory(t.Context(), p.Name, vms, p.About, ""); err != nil {
		t.Fatal(err)
	}
	got := must(s.Endpoints(t.Context()))(t)
	if len(got) != 1 || got[0].Taken.IsZero() {
		t.Fatalf("the endpoint was not listed: %+v", got)
	}
	p.Taken, p.Failure = got[0].Taken, ""
	same(t, "endpoint", []engine.Endpoint{p}, got)
	same(t, "inventory", []engine.Listed{{Endpoint: p.Name, VM: vms[0]}, {Endpoint: p.Name, VM: vms[1]}}, must(s.Inventory(t.Context()))(t))
}

// A line is made of the migration and kept beside it: all of its fields must be kept.
func TestEveryFieldOfALineIsKept(t *testing.T) {
	s := fresh(t)
	m := must(s.Apply(t.Context(), fullDocument(t), ann))(t)
	m.Status = filled[engine.Status](t)
	m.Status.Phase = engine.Importing
	m.Status.Disks[0].Sent, m.Status.Disks[0].Artifact.Length = 10, 100
	m.Status.Disks[1].Sent, m.Status.Disks[1].Artifact.Length = 20, 200
	m.Status.Disks[0].Rate, m.Status.Disks[1].Rate = 1, 2
	commit(t, s, engine.Checkpoint{Migration: m, Ask: []engine.Decision{filled[engine.Decision](t)}})
	st := m.Status
	want := engine.Line{
		UID: m.UID, Name: m.Name(), VM: st.Inventory.Name, Source: m.Document.Spec.Source.Address, Ref: st.Inventory.Ref,
		Namespace: st.Plan.Namespace, Target: st.Plan.Name, Phase: engine.Importing, Resume: st.Resume, Reason: st.Reason,
		Message: st.Message, Want: engine.WantRun, Done: 30, Total: 300, Rate: 3, ETA: 90, Queue: st.Queue, Questions: 1,
		Created: m.Created, Since: st.History[1].Time, Progress: st.Progress, NotUntil: st.NotUntil, Times: st.Times,
		Warm: &warm.Line{Phase: st.Warm.Phase, Gap: st.Warm.Workers[0].Gap + st.Warm.Workers[1].Gap, Rounds: st.Warm.Workers[1].Count, Waiting: st.Warm.Waiting},
	}
	lines := must(s.Lines(t.Context()))(t)
	same(t, "line", []engine.Line{want}, lines)
	v := reflect.ValueOf(lines[0])
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("field %s of the line was not tried", v.Type().Field(i).Name)
		}
	}
}

func TestMomentsAreExact(t *testing.T) {
	s := fresh(t)
	m := applied(t, s, 1)
	m.Status.Phase = engine.Pending
	zone := time.FixedZone("there", 5*3600+1800)
	for _, at := range []time.Time{start, start.Add(1), start.In(zone), time.Date(2038, 1, 19, 3, 14, 8, 999999999, time.UTC)} {
		m.Status.NotUntil = at
		m = commit(t, s, engine.Checkpoint{Migration: m})
		if l := must(s.Lines(t.Context()))(t)[0]; !l.NotUntil.Equal(at) || !m.Status.NotUntil.Equal(at) {
			t.Errorf("%v became %v in the line and %v in the status", at, l.NotUntil, m.Status.NotUntil)
		}
	}
	m.Status.NotUntil = time.Time{}
	commit(t, s, engine.Checkpoint{Migration: m})
	if l := must(s.Lines(t.Context()))(t)[0]; !l.NotUntil.IsZero() {
		t.Errorf("no moment became %v", l.NotUntil)
	}
}
