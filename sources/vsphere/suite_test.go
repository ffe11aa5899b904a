package vsphere_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"landfall/engine/machine"
	"landfall/engine/secret"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/sources/esxsim"
	"landfall/sources/sourcetest"
	"landfall/sources/vsphere"
)

const password = "p%40ss w+rd"

// start runs a simulated host for one test, and gives the source document that reaches it.
func start(t testing.TB, c esxsim.Config) (*esxsim.Server, spec.Source) {
	t.Helper()
	c.Password = password
	sim, err := esxsim.Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sim.Close)
	t.Setenv("VSPHERE_TEST_PASSWORD", password)
	return sim, spec.Source{
		Type: "vsphere", Address: sim.URL().Host, Username: sim.URL().User.Username(),
		Password: secret.Ref{Env: "VSPHERE_TEST_PASSWORD"}, TLS: spec.TLS{Thumbprint: sim.Fingerprint()},
	}
}

// dial connects for the length of a test.
func dial(t testing.TB, s spec.Source, o vsphere.Options) sources.Source {
	t.Helper()
	src, err := vsphere.Dial(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src
}

// ref is the identity of a VM by its name.
func ref(t testing.TB, src sources.Source, name string) machine.Ref {
	t.Helper()
	rows, err := src.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Name == name {
			return r.Ref
		}
	}
	t.Fatalf("no VM %q in %d rows", name, len(rows))
	return machine.Ref{}
}

// content is reproducible bytes with holes, as long as the disk.
func content(seed uint64, ranges ...esxsim.Range) esxsim.Contents {
	return esxsim.Contents{Seed: seed, Ranges: ranges}
}

func pattern(c esxsim.Contents) io.ReaderAt { return esxsim.Pattern{Seed: c.Seed, Ranges: c.Ranges} }

var (
	system = esxsim.Disk{Size: 24 << 20, Contents: content(1, esxsim.Range{Length: 3<<20 + 11}, esxsim.Range{Offset: 17 << 20, Length: 5000}, esxsim.Range{Offset: 24<<20 - 1, Length: 1})}
	data   = esxsim.Disk{Size: 9<<20 + 512, Bus: "sata", Contents: content(2, esxsim.Range{Offset: 4096, Length: 5 << 20})}
)

func TestSource(t *testing.T) {
	for _, world := range []struct {
		name   string
		config esxsim.Config
		track  bool
	}{
		{"host", esxsim.Config{}, true},
		{"host, changes not tracked", esxsim.Config{}, false},
		{"host that decodes twice, answers the map in pieces and does not announce ranges",
			esxsim.Config{DecodeTwice: true, AreasPerCall: 1, Grain: 64 << 10, NoAcceptRanges: true}, true},
		{"vCenter", esxsim.Config{VCenter: true}, true},
	} {
		t.Run(world.name, func(t *testing.T) {
			sourcetest.Run(t, func(t *testing.T) sourcetest.Fixture {
				c := world.config
				c.VMs = []esxsim.VM{
					{Name: "db + 100% [1]/ü", Folder: folderIf(c.VCenter), Disks: []esxsim.Disk{data, system}, ChangeTracking: world.track,
						NICs: []esxsim.NIC{{}}},
					{Name: "web", Power: esxsim.On, Disks: []esxsim.Disk{{Size: 1 << 20}}, Shutdown: esxsim.Shutdown{Delay: 200 * time.Millisecond}},
					{Name: "old", Power: esxsim.On, Tools: esxsim.ToolsNone, Disks: []esxsim.Disk{{Size: 1 << 20}}},
				}
				sim, doc := start(t, c)
				src := dial(t, doc, vsphere.Options{})
				off := ref(t, src, "db + 100% [1]/ü")
				set := func(p esxsim.Power) func(machine.Ref) {
					return func(r machine.Ref) {
						if err := sim.SetPower(r.InstanceUUID, p); err != nil {
							t.Error(err)
						}
					}
				}
				return sourcetest.Fixture{
					Source: src, Off: off, Obedient: ref(t, src, "web"), Toolless: ref(t, src, "old"),
					Contents: []io.ReaderAt{pattern(system.Contents), pattern(data.Contents)}, // scsi before sata
					Tracked:  world.track, EndSessions: sim.EndSessions,
					EndEarly: func(after int64) {
						if err := sim.FailHTTP(esxsim.HTTPFault{Path: "-flat", Count: 1, End: true, After: after}); err != nil {
							t.Error(err)
						}
					},
					Start: set(esxsim.On), Stop: set(esxsim.Off),
					Changes: func() int64 { return changes(sim.Counters()) },
				}
			})
		})
	}
}

// changes counts the calls that are no mere look: tasks, leases and what else is not a reading of properties.
func changes(c esxsim.Counters) (n int64) {
	for method, times := range c.Calls {
		look := strings.HasPrefix(method, "Retrieve") || strings.HasPrefix(method, "Has") || strings.HasSuffix(method, "View") || strings.HasPrefix(method, "Find")
		if !look {
			n += times
		}
	}
	return n + c.Leases
}

func folderIf(vcenter bool) string {
	if vcenter {
		return "prod/finance"
	}
	return ""
}
