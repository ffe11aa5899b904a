package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/sources/esxsim"
	"landfall/targets/kubesim"
	"landfall/testdata/guest"
)

// TestRealGuestMovesThroughThreeKills migrates a real bootable disk through an engine that is killed in the copy, in the
// upload and between two checkpoints; boots the disk that arrived under qemu; and has the engine's own check answered by
// that guest.
func TestRealGuestMovesThroughThreeKills(t *testing.T) {
	token := "landfall-" + strings.ToLower(fmt.Sprintf("%x", time.Now().UnixNano()))
	image, err := guest.Build(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	vm := esxsim.VM{Name: "real guest", Power: esxsim.On, CPUs: 1, MemoryMiB: 512, NICs: []esxsim.NIC{{}}, ChangeTracking: true,
		Hostname: "guest", IPs: []string{"192.0.2.9"}, GuestID: "debian12_64Guest",
		Shutdown: esxsim.Shutdown{Answer: esxsim.Obeys, Delay: 100 * time.Millisecond},
		Disks:    []esxsim.Disk{{Size: guest.Size, Contents: esxsim.Contents{File: image}}}}
	w := newWorld(t, vm)
	source, err := w.host.Digest("real guest", 0)
	if err != nil {
		t.Fatal(err)
	}
	w.host.SetRate(60 << 20)
	m := w.apply("real guest", func(d *spec.Document) {
		d.Spec.Validation = spec.Validation{BootTimeoutSeconds: 600, Checks: []spec.Check{{Type: "HTTP", Port: 80, ExpectBodyContains: token}}}
	})
	uid := m.UID

	p := w.engine()
	m = w.until(uid, "a part of the copy", func(m engine.Migration) bool {
		return m.Status.Phase == engine.Preparing && len(m.Status.Disks) > 0 && m.Status.Disks[0].Copied > 0 && !m.Status.Disks[0].Acquired
	})
	p.kill()
	t.Logf("killed in the copy, %d of %d bytes vouched for", m.Status.Disks[0].Copied, m.Status.Disks[0].ToCopy)
	w.host.SetRate(0)

	w.cluster.Inject(kubesim.Fault{Verb: "upload", Resource: "upload", Do: kubesim.Slow, After: 2 * time.Second})
	p = w.engine()
	w.until(uid, "an upload under way", func(m engine.Migration) bool {
		return m.Status.Phase == engine.Importing && strings.HasSuffix(m.Status.Seen, "sending")
	})
	p.kill()
	t.Log("killed in the upload")

	p = w.engine(envKill+"=1", envKillIf+"=store commit")
	if _, ok := p.wait(time.Minute); !ok {
		t.Fatal("the engine was not killed at its commit")
	}
	t.Log("killed at a commit between two checkpoints")

	p = w.engine()
	m = w.until(uid, "the disk in the cluster", func(m engine.Migration) bool {
		return m.Status.Has(engine.DiskImported) || m.Status.Phase == engine.ManualInterventionRequired
	})
	if m.Status.Phase == engine.ManualInterventionRequired {
		t.Fatalf("a person is asked: %s: %s", m.Status.Reason, m.Status.Message)
	}
	v, err := w.cluster.Volume("vms", m.Status.Disks[0].Volume)
	if err != nil {
		t.Fatal(err)
	}
	arrived, err := fileSHA256(v.Path, guest.Size)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("SHA-256 of the source disk  %s", source)
	t.Logf("SHA-256 of the target disk  %s", arrived)
	if source != arrived {
		t.Fatal("the disks differ")
	}

	bus, firmware := rendered(t, m)
	running, err := guest.Boot(context.WithoutCancel(t.Context()), v.Path, guest.BootOptions{Firmware: firmware, Bus: bus, MemoryMiB: 512, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer running.Stop()
	w.cluster.SetBackend("vms", m.Status.Plan.Name, running.HostPort)
	page, err := running.Page(t.Context(), "/")
	if err != nil {
		b, _ := os.ReadFile(running.Console)
		t.Fatalf("%v\nconsole: %s", err, b[max(0, len(b)-2000):])
	}
	t.Logf("the guest under qemu (%s, %s) serves: %s", firmware, bus, strings.TrimSpace(page))
	if !strings.Contains(page, token) {
		t.Errorf("the page lacks the token %s", token)
	}
	m = w.phase(uid, engine.Completed)
	p.stop(t)
	t.Logf("check: %s", m.Status.Checks[0].Detail)
	if after, err := w.host.Digest("real guest", 0); err != nil || after != source {
		t.Errorf("the source disk was written: %s, %v", after, err)
	}
	var twice int64
	for _, f := range w.host.Counters().Extents(m.Status.Inventory.Ref.InstanceUUID) {
		twice += f.Twice()
	}
	t.Logf("bytes read twice from the source: %d", twice)
	if twice > 64<<20 {
		t.Error("more than the chunks in flight was read twice")
	}
}

// rendered gives the bus and firmware that the virtual machine was rendered with.
func rendered(t *testing.T, m engine.Migration) (guest.Bus, guest.Firmware) {
	t.Helper()
	manifest := m.Status.Plan.Manifest
	bus, firmware := guest.SATA, guest.BIOS
	if strings.Contains(manifest, "bus: virtio") {
		bus = guest.Virtio
	}
	if strings.Contains(manifest, "efi:") {
		firmware = guest.EFI
	}
	return bus, firmware
}
