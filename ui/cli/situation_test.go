package cli

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/sources/esxsim"
	"landfall/targets/kubesim"
)

// rests waits for a rest that needs a person, and looks at its reason and words.
func (w *testWorld) rests(uid, reason string, words ...string) engine.Migration {
	w.t.Helper()
	m := w.until(uid, "a rest with "+reason, func(m engine.Migration) bool {
		return m.Status.Phase == engine.ManualInterventionRequired || m.Status.Phase.Terminal()
	})
	if m.Status.Phase != engine.ManualInterventionRequired || m.Status.Reason != reason {
		w.t.Fatalf("phase %s, reason %s: %s; want a rest with %s", m.Status.Phase, m.Status.Reason, m.Status.Message, reason)
	}
	for _, word := range words {
		if !strings.Contains(m.Status.Message+" "+m.Status.Hint, word) {
			w.t.Errorf("%q is not in: %s (%s)", word, m.Status.Message, m.Status.Hint)
		}
	}
	return m
}

// cancelled cancels, waits for the end, and looks that nothing is left in the cluster.
func (w *testWorld) cancelled(m engine.Migration) {
	w.t.Helper()
	if err := w.store.Cancel(w.t.Context(), m.UID, tester); err != nil {
		w.t.Fatal(err)
	}
	m = w.until(m.UID, "the end", func(m engine.Migration) bool { return m.Status.Phase.Terminal() })
	if m.Status.Phase != engine.Cancelled {
		w.t.Errorf("ended %s, want Cancelled", m.Status.Phase)
	}
	for _, h := range m.Status.Left {
		if h.Kind != "power" {
			w.t.Errorf("left behind: %s (%s)", h, h.Note)
		}
	}
	if vs := w.cluster.Volumes(); len(vs) > 0 {
		w.t.Errorf("volumes are left: %+v", vs)
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "staging", m.UID)); !os.IsNotExist(err) {
		w.t.Errorf("staging is left: %v", err)
	}
}

func TestWrongPasswordIsTriedOnce(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	if err := os.WriteFile(w.endpoint.Source.Password.File, []byte("wrong\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.store.PutEndpoint(t.Context(), w.endpoint, tester); err != nil {
		t.Fatal(err)
	}
	m := w.apply("vm", nil)
	w.engine()
	w.rests(m.UID, "WrongCredentials")
	time.Sleep(500 * time.Millisecond) // the inventory and the migration both want in
	if n := w.host.Counters().FailedLogins; n != 1 {
		t.Errorf("%d wrong logins: the account would be locked", n)
	}
	if err := os.WriteFile(w.endpoint.Source.Password.File, []byte(testPassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.retry(m.UID)
	w.phase(m.UID, engine.Completed)
}

func TestUnknownHostNamesIt(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	m := w.apply("vm", func(d *spec.Document) { d.Spec.Source.Address = "127.0.0.1:9" })
	w.engine()
	m = w.rests(m.UID, "Unreachable", "127.0.0.1:9", "retry budget spent")
	if n := len(m.Status.Errors); n != spec.DefaultRetryLimit+1 {
		t.Errorf("%d attempts, want %d", n, spec.DefaultRetryLimit+1)
	}
	w.cancelled(m)
}

func TestChangedCertificateStopsWithBothFingerprints(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	old := strings.ToLower(strings.ReplaceAll(w.host.Fingerprint(), ":", ""))
	if err := w.host.SwapCertificate(); err != nil {
		t.Fatal(err)
	}
	m := w.apply("vm", nil)
	w.engine()
	m = w.rests(m.UID, "Certificate")
	plain := strings.ToLower(strings.ReplaceAll(m.Status.Message+m.Status.Hint, ":", ""))
	for _, f := range []string{old, strings.ToLower(strings.ReplaceAll(w.host.Fingerprint(), ":", ""))} {
		if !strings.Contains(plain, f) {
			t.Errorf("fingerprint %s is not in %s", f, plain)
		}
	}
}

func TestVMThatIsGone(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	m := w.apply("no such vm", nil)
	w.engine()
	m = w.rests(m.UID, "NotFound", "no such vm")
	w.cancelled(m)
}

func TestSourceThatIsPoweredOnAgainIsCopiedAnew(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 48<<20))
	w.host.SetRate(4 << 20)
	m := w.apply("vm", checked("vm"))
	w.engine()
	w.until(m.UID, "the copy", func(m engine.Migration) bool { return len(m.Status.Disks) > 0 && m.Status.Disks[0].Copied > 0 })
	if err := w.host.SetPower("vm", esxsim.On); err != nil {
		t.Fatal(err)
	}
	if err := w.host.WriteDisk("vm", 0, 3<<20, []byte("written by the guest while it ran")); err != nil {
		t.Fatal(err)
	}
	m = w.rests(m.UID, "PoweredOnAgain", "powered on again")
	if m.Status.Disks[0].Copied != 0 || m.Status.Has(engine.SourcePoweredOff) {
		t.Errorf("the stale copy is still counted: %+v", m.Status.Disks[0])
	}
	w.host.SetRate(0)
	w.retry(m.UID)
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
}

func TestDisksThatChangeBeforeTheCopy(t *testing.T) {
	for name, tc := range map[string]struct {
		change       func(*testWorld) error
		reason, word string
	}{
		"VM is gone": {func(w *testWorld) error {
			return errors.Join(w.host.SetPower("vm", esxsim.Off), w.host.Unregister("vm"))
		}, "NotFound", "vm-"},
		"disk grows":       {func(w *testWorld) error { return w.host.GrowDisk("vm", 0, 16<<20) }, "SizeChanged", "disk 0"},
		"snapshot appears": {func(w *testWorld) error { return w.host.TakeSnapshot("vm", "somebody's") }, "SnapshotAppeared", "disk 0"},
	} {
		t.Run(name, func(t *testing.T) {
			vm := smallVM(t, "vm", 8<<20)
			vm.Shutdown.Answer = esxsim.Refuses
			w := newWorld(t, vm)
			m := w.apply("vm", nil)
			w.engine()
			w.answer(m.UID, "power-off", "handover")
			if err := tc.change(w); err != nil {
				t.Fatal(err)
			}
			_ = w.host.SetPower("vm", esxsim.Off) // a VM that is gone has no power
			m = w.rests(m.UID, tc.reason, tc.word)
			w.cancelled(m)
		})
	}
}

func TestCutAndCleanEarlyEndAreResumed(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 24<<20))
	for _, f := range []esxsim.HTTPFault{{Path: "-flat.vmdk", Method: "GET", Cut: true, After: 1 << 20, Count: 2}, {Path: "-flat.vmdk", Method: "GET", End: true, After: 2 << 20, Count: 2}} {
		if err := w.host.FailHTTP(f); err != nil {
			t.Fatal(err)
		}
	}
	m := w.apply("vm", checked("vm"))
	w.engine()
	w.equal(w.phase(m.UID, engine.Completed))
}

func TestNameThatAForeignVMHas(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	if err := makeForeign(t.Context(), w, "taken"); err != nil {
		t.Fatal(err)
	}
	m := w.apply("vm", func(d *spec.Document) { d.Spec.Destination.VMName = "taken" })
	w.engine()
	m = w.rests(m.UID, "Decision", "virtualmachine taken exists")
	if p := w.host.Counters().Calls["ShutdownGuest"]; p != 0 {
		t.Error("the source was touched before the rules passed")
	}
	w.cancelled(m)
	if err := makeForeign(t.Context(), w, "taken"); err != nil {
		t.Errorf("the foreign VM was touched: %v", err)
	}
}

func TestClusterThatRefuses(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	w.engine()
	t.Run("namespace missing", func(t *testing.T) {
		sub := *w
		sub.t = t
		m := sub.apply("vm", func(d *spec.Document) { d.Spec.Destination.Namespace = "nowhere" })
		m = sub.rests(m.UID, "Decision", "namespace nowhere does not exist")
		sub.cancelled(m)
	})
	t.Run("quota exceeded at creation", func(t *testing.T) {
		sub := *w
		sub.t = t
		w.cluster.Inject(kubesim.Fault{Verb: "create", Resource: "datavolumes", Do: kubesim.Forbidden, Times: -1,
			Message: `exceeded quota: small, requested: requests.storage=8Mi, used: requests.storage=1Gi, limited: requests.storage=1Gi`})
		defer w.cluster.ClearFaults()
		m := sub.apply("vm", nil)
		m = sub.until(m.UID, "a rest", func(m engine.Migration) bool { return m.Status.Phase == engine.ManualInterventionRequired })
		if m.Status.Resume != engine.Importing || !strings.Contains(m.Status.Message, "exceeded quota") {
			t.Errorf("rest from %s: %s", m.Status.Resume, m.Status.Message)
		}
		sub.cancelled(m)
	})
	t.Run("upload token expired", func(t *testing.T) {
		sub := *w
		sub.t = t
		w.cluster.Inject(kubesim.Fault{Verb: "upload", Resource: "upload", Do: kubesim.Unauth})
		m := sub.apply("vm", checked("vm"))
		m = sub.phase(m.UID, engine.Completed)
		sub.equal(m)
	})
}

func TestSecondEngineIsRefused(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	w.engine()
	for deadline := time.Now().Add(time.Minute); !alive(w.workspace); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first engine does not come up")
		}
	}
	second := w.engine()
	if err, ok := second.wait(time.Minute); !ok || err == nil {
		t.Fatalf("the second engine runs: %v", err)
	}
	if words := second.words(); !strings.Contains(words, "another engine runs") {
		t.Errorf("it does not say who has the workspace: %s", words)
	}
}

func TestRefusingGuestAsksAndTheAnswerIsKept(t *testing.T) {
	vm := smallVM(t, "vm", 8<<20)
	vm.Shutdown.Answer = esxsim.Refuses
	w := newWorld(t, vm)
	m := w.apply("vm", checked("vm"))
	w.engine()
	w.rests(m.UID, "Decision", "Power it off hard?")
	time.Sleep(300 * time.Millisecond)
	if c := w.host.Counters().Calls; c["PowerOffVM_Task"] != 0 {
		t.Fatal("powered off without an answer")
	}
	w.answer(m.UID, "power-off", "hard")
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
	if c := w.host.Counters().Calls; c["PowerOffVM_Task"] != 1 {
		t.Errorf("%d hard power-offs, want 1", c["PowerOffVM_Task"])
	}
	ds, err := w.store.Decisions(t.Context(), m.UID)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range ds {
		if d.Kind == "power-off" && (d.By != tester.Name || d.From != tester.From || d.Closed.IsZero()) {
			t.Errorf("the answer is not kept: %+v", d)
		}
	}
}

func TestCancelInTheCopyLeavesNothing(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 48<<20))
	w.host.SetRate(4 << 20)
	m := w.apply("vm", nil)
	w.engine()
	m = w.until(m.UID, "the copy", func(m engine.Migration) bool { return len(m.Status.Disks) > 0 && m.Status.Disks[0].Copied > 0 })
	w.cancelled(m)
}

func TestCancelAfterTheStartIsRefused(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	m := w.apply("vm", func(d *spec.Document) {
		d.Spec.Validation = spec.Validation{BootTimeoutSeconds: 600, Checks: []spec.Check{{Type: "HTTP", Port: 80, ExpectBodyContains: "never"}}}
	})
	w.engine()
	m = w.until(m.UID, "Validating", func(m engine.Migration) bool { return m.Status.Phase == engine.Validating })
	if err := w.store.Cancel(t.Context(), m.UID, tester); err != nil {
		t.Fatal(err)
	}
	m = w.until(m.UID, "the refusal", func(m engine.Migration) bool { return m.Status.CancelRefused })
	if m.Status.Phase != engine.Validating {
		t.Errorf("phase %s, want Validating still", m.Status.Phase)
	}
}

func TestConversionToQcow2Arrives(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	m := w.apply("vm", func(d *spec.Document) {
		checked("vm")(d)
		d.Spec.Strategy.Conversion = spec.ConvertQemuImg
	})
	w.engine()
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
	if a := m.Status.Disks[0].Artifact; a.Format != "qcow2" || !strings.Contains(a.Made, "qemu-img") {
		t.Errorf("artifact %+v", a)
	}
}

// The volume that waits for the engine which was killed is made anew, once the importer of it has ended.
func TestDeliveryHTTPGoesOnAfterTheEngineIsKilled(t *testing.T) {
	w := newWorldWith(t, func(c *kubesim.Config) { c.Grace = 2 * time.Second }, smallVM(t, "vm", 8<<20))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	w.cluster.SetPace(100 * time.Millisecond)
	m := w.apply("vm", func(d *spec.Document) {
		checked("vm")(d)
		d.Spec.Strategy.Delivery, d.Spec.Destination.ServeAddress = spec.DeliverHTTP, address
	})
	p := w.engine()
	w.until(m.UID, "the volume", func(m engine.Migration) bool {
		return m.Status.Phase == engine.Importing && m.Status.Disks[0].Authority != "" && m.Status.Disks[0].VolumePhase == "ImportInProgress"
	})
	p.kill()
	w.engine()
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
}

func TestProvedCopyIsReadTwice(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	m := w.apply("vm", func(d *spec.Document) { d.Spec.Strategy.Verify = "proved" })
	w.engine()
	m = w.phase(m.UID, engine.Completed)
	if want, err := w.host.Digest("vm", 0); err != nil || m.Status.Disks[0].SHA256 != want {
		t.Errorf("SHA-256 of the image %s, of the source %s (%v)", m.Status.Disks[0].SHA256, want, err)
	}
	f := w.host.Counters().Extents(m.Status.Inventory.Ref.InstanceUUID)[0]
	if !m.Status.Disks[0].Proved || f.Bytes < 2*f.Distinct() {
		t.Errorf("proved %v with %d of %d bytes read", m.Status.Disks[0].Proved, f.Bytes, f.Distinct())
	}
}

func TestNoSecretIsWrittenAnywhere(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	m := w.apply("vm", nil)
	p := w.engine()
	w.phase(m.UID, engine.Completed)
	p.stop(t)
	err := filepath.Walk(w.workspace, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), testPassword) {
			t.Errorf("the password is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestStagingThatIsFullGoesOnWhenThereIsRoom(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 24<<20))
	staging := filepath.Join(w.workspace, "staging")
	if err := os.Mkdir(staging, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", staging, "tmpfs", 0, "size=40m,mode=0700"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(staging, unix.MNT_DETACH) })
	w.host.SetRate(3 << 20)
	m := w.apply("vm", checked("vm"))
	p := w.engine()
	w.until(m.UID, "the copy", func(m engine.Migration) bool {
		return m.Status.Phase == engine.Preparing && m.Status.Seen == "copying disk 0"
	})
	filler := filepath.Join(staging, "filler")
	if f, err := os.Create(filler); err != nil {
		t.Fatal(err)
	} else {
		_, _ = f.Write(make([]byte, 40<<20)) // as much as fits
		f.Close()
	}
	m = w.rests(m.UID, "NoSpace", staging)
	vouched := m.Status.Disks[0].Copied
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	w.host.SetRate(0)
	w.retry(m.UID)
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
	t.Logf("%d bytes were kept over the full disk", vouched)
	p.stop(t) // before the file system goes
}

func TestTargetIsNotStartedWhileTheSourceRuns(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	w.cluster.Inject(kubesim.Fault{Verb: "create", Resource: "virtualmachines", Do: kubesim.Unavailable, Times: -1})
	m := w.apply("vm", func(d *spec.Document) {
		many := 100
		d.Spec.Strategy.RetryLimit = &many
	})
	w.engine()
	w.until(m.UID, "CreatingVM", func(m engine.Migration) bool {
		return m.Status.Phase == engine.CreatingVM || m.Status.Resume == engine.CreatingVM
	})
	if err := w.host.SetPower("vm", esxsim.On); err != nil {
		t.Fatal(err)
	}
	w.cluster.ClearFaults()
	m = w.rests(m.UID, "SourceRuns", "on")
	if _, runs := w.cluster.Guest("vms", m.Status.Plan.Name); runs {
		t.Error("the target runs beside the source")
	}
	w.cancelled(m)
}

func TestSourceThatRanUnseenIsFoundOut(t *testing.T) {
	ran := func(t *testing.T, w *testWorld) {
		t.Helper()
		time.Sleep(1100 * time.Millisecond) // a file's time is told in whole seconds
		if err := errors.Join(w.host.SetPower("vm", esxsim.On), w.host.WriteDisk("vm", 0, 3<<20, []byte("written while nobody looked")), w.host.SetPower("vm", esxsim.Off)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("in the copy it is copied anew", func(t *testing.T) {
		w := newWorld(t, smallVM(t, "vm", 24<<20))
		w.host.SetRate(4 << 20)
		m := w.apply("vm", checked("vm"))
		p := w.engine()
		w.until(m.UID, "the copy", func(m engine.Migration) bool { return len(m.Status.Disks) > 0 && m.Status.Disks[0].Copied > 0 })
		p.kill()
		ran(t, w)
		w.host.SetRate(0)
		w.engine()
		w.equal(w.phase(m.UID, engine.Completed))
	})
	t.Run("after the copy the target is not started", func(t *testing.T) {
		w := newWorld(t, smallVM(t, "vm", 8<<20))
		w.cluster.Inject(kubesim.Fault{Verb: "create", Resource: "virtualmachines", Do: kubesim.Unavailable, Times: -1})
		m := w.apply("vm", nil)
		p := w.engine()
		w.until(m.UID, "CreatingVM", func(m engine.Migration) bool {
			return m.Status.Phase == engine.CreatingVM || m.Status.Resume == engine.CreatingVM
		})
		p.kill()
		ran(t, w)
		w.cluster.ClearFaults()
		w.engine()
		m = w.rests(m.UID, "SourceWritten", "disk 0")
		w.cancelled(m)
	})
}

func TestStagedImageThatIsTamperedWithIsNotDelivered(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	w.cluster.Inject(kubesim.Fault{Verb: "create", Resource: "datavolumes", Do: kubesim.Unavailable, Times: -1})
	m := w.apply("vm", func(d *spec.Document) {
		many := 100
		d.Spec.Strategy.RetryLimit = &many
	})
	w.engine()
	m = w.until(m.UID, "Importing", func(m engine.Migration) bool { return m.Status.Resume == engine.Importing })
	f, err := os.OpenFile(m.Status.Disks[0].Artifact.Path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("not what was read"), 3<<20); err != nil {
		t.Fatal(err)
	}
	f.Close()
	w.cluster.ClearFaults()
	m = w.rests(m.UID, "Damaged")
	w.cancelled(m)
}
