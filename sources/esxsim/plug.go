package esxsim

import (
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// AddDisk gives a VM one more disk, on the bus of its last one, as somebody
// does while it runs. It is not kept over a restart.
func (s *Server) AddDisk(vm string, spec Disk) error {
	m, err := s.find(vm)
	if err != nil {
		return err
	}
	fail := func(err error) error { return fmt.Errorf("add a disk to vm %q: %w", vm, err) }
	m.change(func(ctx *simulator.Context) {
		n := len(m.disks)
		if spec, err = spec.withDefaults(m.spec, n); err != nil {
			return
		}
		d := &disk{spec: spec, store: s.store(spec.Datastore), size: spec.Size, epoch: 1, late: len(m.snapshotLine()),
			layers: []layer{{Descriptor: spec.File, Extent: spec.Extent, Parent: -1}}}
		if d.store == nil || n == 0 {
			err = fmt.Errorf("no datastore %q, or no disk to put it beside", spec.Datastore)
			return
		}
		last := m.disks[n-1]
		d.bus, d.unit, d.key, d.label = last.bus, last.unit+1, last.key+1, fmt.Sprintf("Hard disk %d", n+1)
		if err = os.MkdirAll(d.dir(), 0o700); err != nil {
			return
		}
		if err = makeExtent(path.Join(d.dir(), d.layers[0].Extent), d.size, spec.Contents); err != nil {
			return
		}
		if err = m.writeLayers(d); err != nil {
			return
		}
		m.disks = append(m.disks, d)
		devices := append(m.currentDevices(), m.diskDevice(d))
		ctx.Update(m.obj, []types.PropertyChange{{Name: "config.hardware.device", Val: devices}})
	})
	if err != nil {
		return fail(err)
	}
	return nil
}

// RemoveDisk takes a disk out of a VM; its files stay, and so do snapshots
// that have it. It is not kept over a restart.
func (s *Server) RemoveDisk(vm string, index int) error {
	m, d, err := s.findDisk(vm, index)
	if err != nil {
		return err
	}
	m.change(func(ctx *simulator.Context) {
		m.disks = slices.DeleteFunc(slices.Clone(m.disks), func(x *disk) bool { return x == d })
		devices := slices.DeleteFunc(slices.Clone(m.obj.Config.Hardware.Device), func(v types.BaseVirtualDevice) bool {
			return v.GetVirtualDevice().Key == d.key
		})
		ctx.Update(m.obj, []types.PropertyChange{{Name: "config.hardware.device", Val: devices}})
	})
	return nil
}
