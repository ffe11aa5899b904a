package vsphere_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"
	"time"

	"landfall/engine/spec"
	"landfall/sources"
	"landfall/sources/esxsim"
	"landfall/sources/sourcetest"
	"landfall/sources/vsphere"
)

var live = esxsim.Disk{Size: 5<<20 + 512, Contents: content(4, esxsim.Range{Offset: 1 << 20, Length: 2<<20 + 5}, esxsim.Range{Offset: 5 << 20, Length: 512})}

func TestLive(t *testing.T) {
	for _, world := range []struct {
		name   string
		config esxsim.Config
		disk   func(*esxsim.Disk)
	}{
		{"host", esxsim.Config{}, func(*esxsim.Disk) {}},
		{"host that answers in pieces", esxsim.Config{AreasPerCall: 1}, func(d *esxsim.Disk) { d.Bus = "nvme" }},
		{"vCenter", esxsim.Config{VCenter: true}, func(d *esxsim.Disk) { d.Bus, d.BusNumber = "sata", 1 }},
	} {
		t.Run(world.name, func(t *testing.T) {
			sourcetest.RunLive(t, func(t *testing.T) sourcetest.LiveFixture {
				disk := live
				world.disk(&disk)
				c := world.config
				c.VMs = []esxsim.VM{{Name: "web", Power: esxsim.On, Firmware: "efi", Disks: []esxsim.Disk{disk, {Size: 1 << 20, Bus: "nvme", BusNumber: 2}}}}
				sim, doc := start(t, c)
				return liveFixture(t, sim, dial(t, doc, vsphere.Options{}), disk)
			})
		})
	}
}

func liveFixture(t *testing.T, sim *esxsim.Server, src sources.Source, disk esxsim.Disk) sourcetest.LiveFixture {
	t.Helper()
	bytes := make([]byte, disk.Size)
	if _, err := io.ReadFull(io.NewSectionReader(pattern(disk.Contents), 0, disk.Size), bytes); err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	return sourcetest.LiveFixture{
		Source: src.(sources.Live), VM: ref(t, src, "web"), Content: bytes,
		Write:   func(off int64, p []byte) { check(sim.WriteDisk("web", 0, off, p)) },
		Stop:    func() { check(sim.SetPower("web", esxsim.Off)) },
		Foreign: func(name string) { check(sim.TakeSnapshot("web", name)) },
		Unquiet: func() { check(sim.SetQuiesce("web", false)) },
		Lose:    func() { check(sim.LoseTracking("web")) },
		Slow: func() {
			check(sim.FailSOAP(esxsim.SOAPFault{Method: "CreateSnapshot_Task", InTask: true, Delay: time.Second, Count: 1}))
		},
		Forget: func() { check(sim.FailSOAP(esxsim.SOAPFault{Method: "RemoveSnapshot_Task", Forget: true, Count: 1})) },
		EndEarly: func(after int64) {
			check(sim.FailHTTP(esxsim.HTTPFault{Path: "/nfc/", Count: 1, End: true, After: after}))
		},
	}
}

// running is a simulated host with one VM that runs, and what is asked for of it.
func running(t *testing.T, c esxsim.Config, o vsphere.Options, nbd spec.NBD) (*esxsim.Server, sourcetest.LiveFixture) {
	t.Helper()
	if len(c.VMs) == 0 {
		c.VMs = []esxsim.VM{{Name: "web", Power: esxsim.On, ChangeTracking: true, Disks: []esxsim.Disk{live}}}
	}
	sim, doc := start(t, c)
	doc.NBD = nbd
	return sim, liveFixture(t, sim, dial(t, doc, o), c.VMs[0].Disks[0])
}

func leased(t *testing.T, f sourcetest.LiveFixture) sources.Snapshot {
	t.Helper()
	s, err := f.Source.TakeSnapshot(context.Background(), f.VM, sources.SnapshotSpec{Name: "lease", Description: "ours"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sha(p []byte) string {
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}
