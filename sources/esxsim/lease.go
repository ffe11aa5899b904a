package esxsim

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// lease lets the disks of a snapshot be read as streams, for as long as its
// holder reports progress.
type lease struct {
	mo.HttpNfcLease
	m    *machine
	of   types.ManagedObjectReference
	once sync.Once

	mu    sync.Mutex
	alive time.Time
	ended chan struct{}
}

// ExportSnapshot makes a lease on the snapshot's disks, while the VM may run.
func (v *snapshot) ExportSnapshot(ctx *simulator.Context, req *types.ExportSnapshot) soap.HasFault {
	s := v.m.server
	l := &lease{m: v.m, of: req.This, alive: time.Now(), ended: make(chan struct{})}
	id := uuid.NewString()
	l.Self = types.ManagedObjectReference{Type: "HttpNfcLease", Value: "session[" + id + "]" + id}
	l.State = types.HttpNfcLeaseStateInitializing
	ctx.Map.Put(l)
	s.mu.Lock()
	s.leases[id] = l
	s.mu.Unlock()
	s.counters.locked(func() { s.counters.c.Leases++ })
	s.later(10*time.Millisecond, func() { l.ready(id) })
	s.later(s.cfg.LeaseTimeout, l.check)
	return &methods.ExportSnapshotBody{Res: &types.ExportSnapshotResponse{Returnval: l.Self}}
}

func (l *lease) ready(id string) {
	s := l.m.server
	host, print := "*", ""
	if s.cfg.VCenter {
		host = "localhost:" + s.url.Port() // vCenter names the host, which is another than itself
		print = sha1Print(s.Certificate().Raw)
	}
	info := &types.HttpNfcLeaseInfo{Lease: l.Self, Entity: l.m.ref, LeaseTimeout: int32(max(s.cfg.LeaseTimeout/time.Second, 1))}
	l.m.mu.Lock()
	for i, d := range l.m.disks {
		name := fmt.Sprintf("disk-%d.vmdk", i)
		info.DeviceUrl = append(info.DeviceUrl, types.HttpNfcLeaseDeviceUrl{
			Key: fmt.Sprintf("/%s/%s%d:%d", l.m.ref.Value, d.controllerName(), d.spec.BusNumber, d.unit), Url: "https://" + host + "/nfc/" + id + "/" + name,
			SslThumbprint: print, Disk: types.NewBool(true), TargetId: name,
		})
	}
	if l.m.spec.Firmware == "efi" { // not everything in a lease is a disk
		info.DeviceUrl = append(info.DeviceUrl, types.HttpNfcLeaseDeviceUrl{Key: "/" + l.m.ref.Value + "/nvram", Url: "https://" + host + "/nfc/" + id + "/file.nvram", Disk: types.NewBool(false), TargetId: "file.nvram"})
	}
	l.m.mu.Unlock()
	ctx := s.context()
	ctx.WithLock(l, func() {
		ctx.Update(l, []types.PropertyChange{{Name: "state", Val: types.HttpNfcLeaseStateReady}, {Name: "info", Val: info}})
	})
}

func (d *disk) controllerName() string {
	switch d.spec.Bus {
	case "sata":
		return "VirtualAHCIController"
	case "nvme":
		return "VirtualNVMEController"
	case "ide":
		return "VirtualIDEController"
	}
	switch d.spec.Controller {
	case "lsilogic":
		return "VirtualLsiLogicController"
	case "lsilogic-sas":
		return "VirtualLsiLogicSASController"
	case "buslogic":
		return "VirtualBusLogicController"
	}
	return "ParaVirtualSCSIController"
}

// check ends a lease whose holder was silent for too long.
func (l *lease) check() {
	l.mu.Lock()
	left := l.m.server.cfg.LeaseTimeout - time.Since(l.alive)
	l.mu.Unlock()
	select {
	case <-l.ended:
		return
	default:
	}
	if left > 0 {
		l.m.server.later(left, l.check)
		return
	}
	l.m.server.counters.locked(func() { l.m.server.counters.c.LeasesExpired++ })
	l.end()
}

func (l *lease) end() {
	l.once.Do(func() {
		close(l.ended)
		s := l.m.server
		s.mu.Lock()
		for id, other := range s.leases {
			if other == l {
				delete(s.leases, id)
			}
		}
		s.mu.Unlock()
		s.vim.Remove(s.context(), l.Self)
	})
}

// HttpNfcLeaseProgress keeps the lease alive.
func (l *lease) HttpNfcLeaseProgress(_ *simulator.Context, req *types.HttpNfcLeaseProgress) soap.HasFault {
	l.mu.Lock()
	l.alive = time.Now()
	l.mu.Unlock()
	return &methods.HttpNfcLeaseProgressBody{Res: &types.HttpNfcLeaseProgressResponse{}}
}

// HttpNfcLeaseComplete ends it.
func (l *lease) HttpNfcLeaseComplete(*simulator.Context, *types.HttpNfcLeaseComplete) soap.HasFault {
	go l.end() // the caller holds its lock
	return &methods.HttpNfcLeaseCompleteBody{Res: &types.HttpNfcLeaseCompleteResponse{}}
}

// HttpNfcLeaseAbort ends it too.
func (l *lease) HttpNfcLeaseAbort(*simulator.Context, *types.HttpNfcLeaseAbort) soap.HasFault {
	go l.end()
	return &methods.HttpNfcLeaseAbortBody{Res: &types.HttpNfcLeaseAbortResponse{}}
}

// serveNFC streams /nfc/LEASE/disk-N.vmdk. The path is the ticket.
func (s *Server) serveNFC(w http.ResponseWriter, r *http.Request) {
	id, name := path.Split(strings.TrimPrefix(r.URL.Path, "/nfc/"))
	s.mu.Lock()
	l := s.leases[strings.Trim(id, "/")]
	s.mu.Unlock()
	text, ok := strings.CutSuffix(strings.TrimPrefix(name, "disk-"), ".vmdk")
	index, err := strconv.Atoi(text)
	if l == nil || !ok || err != nil || index < 0 || index >= len(l.m.disks) || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	b := &body{ResponseWriter: w, server: s, request: r, get: true}
	b.fault, b.cleared = s.script.http(r.Method, r.URL.Path)
	if !s.sleepRequest(r, b.fault.delay()) || b.fault.answer(b) {
		return
	}
	b.counts = FileCounters{Path: fmt.Sprintf("nfc %s %s", l.m.spec.InstanceUUID, name), VM: l.m.spec.InstanceUUID, Disk: index, Role: "export"}
	defer b.account()
	w.Header().Set("Content-Type", "application/x-vnd.vmware-streamVmdk")
	if err := l.stream(b, index); err != nil && b.broken == nil {
		panic(http.ErrAbortHandler) // the lease ended, or the snapshot is gone
	}
	b.finish()
}

func (l *lease) stream(b *body, index int) error {
	d := l.m.disks[index]
	read := func(p []byte, off int64) error {
		select {
		case <-l.ended:
			return fmt.Errorf("the lease has ended")
		default:
		}
		return l.m.frozenRead(d, l.of, p, off)
	}
	var areas []Range
	err := l.m.frozenView(d, l.of, func(v *view) (err error) {
		areas, err = v.areas(changeGrain)
		return err
	})
	if err != nil {
		return err
	}
	return writeStreamOptimized(b, d.size, areas, read)
}

// frozenView looks at a disk as a snapshot has it.
func (m *machine) frozenView(d *disk, of types.ManagedObjectReference, look func(*view) error) error {
	ctx := m.server.context()
	var err error
	ctx.WithLock(m.obj, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for i, n := range m.snapshotLine() {
			if n.Snapshot != of {
				continue
			}
			var v *view
			if v, err = d.view(d.layerOf(i) - 1); err == nil {
				defer v.close()
				err = look(v)
			}
			return
		}
		err = fmt.Errorf("the snapshot is gone")
	})
	return err
}

func (m *machine) frozenRead(d *disk, of types.ManagedObjectReference, p []byte, off int64) error {
	return m.frozenView(d, of, func(v *view) error {
		_, err := v.ReadAt(p, off)
		return err
	})
}
