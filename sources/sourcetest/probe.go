package sourcetest

import (
	"slices"
	"testing"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
)

// probe tests sources.Prober: it tells of every disk, says of the reader what OpenDisk then shows, and changes nothing.
func probe(t *testing.T, f Fixture) {
	p := f.Source.(sources.Prober)
	for _, ref := range []machine.Ref{f.Off, f.Obedient} {
		vm, err := f.Source.Inspect(within(t), ref)
		ok(t, err)
		var before int64
		if f.Changes != nil {
			before = f.Changes()
		}
		c, err := p.Probe(within(t), vm)
		ok(t, err)
		if f.Changes != nil && f.Changes() != before {
			t.Errorf("the probe of %s made %d changes", vm.Name, f.Changes()-before)
		}
		after, err := f.Source.Power(within(t), ref)
		ok(t, err)
		if after != vm.Power {
			t.Errorf("%s was %s and is %s", vm.Name, vm.Power, after)
		}
		if c.Taken.IsZero() || c.Certificate.Failure != "" || len(c.Unknown) > 0 {
			t.Errorf("probe of %s: %+v", vm.Name, c)
		}
		for _, d := range vm.DiskList {
			first := slices.IndexFunc(c.Readers, func(r sources.Reading) bool { return r.Disk == d.Key })
			if first < 0 {
				t.Errorf("nothing is told of %s", d.Where())
				continue
			}
			if vm.Power != machine.Off {
				continue
			}
			opened, err := f.Source.OpenDisk(within(t), vm, d)
			if r := c.Readers[first]; r.Works != (err == nil) {
				t.Errorf("%s: told %+v, opened %v", d.Where(), r, err)
			}
			if err == nil {
				_ = opened.Close()
			}
		}
	}
	_, err := p.Probe(within(t), machine.VM{Summary: machine.Summary{Ref: machine.Ref{MoRef: "no-such-vm"}}})
	must(t, err, fault.Blocked, fault.NotFound)
}
