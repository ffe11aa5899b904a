package kubesim

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"sync"

	virtv1 "kubevirt.io/api/core/v1"
)

// guest is a running machine. It is only touched while the store is held, except through guests.
type guest struct {
	where  place
	booted bool   // the attempt is over
	why    string // it did not come up; "" is that it did
	disk   *Guest // what it runs, nil if it did not come up
	agent  bool
}

type guests struct {
	mu       sync.Mutex
	active   map[string]*guest // by uid of the instance
	backends map[place]string
}

func (g *guests) of(uid string) *guest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.active[uid]
}

func (g *guests) start(uid string, where place) *guest {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active[uid] = &guest{where: where}
	return g.active[uid]
}

func (g *guests) stop(uid string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.active, uid)
}

// keep stops every guest whose instance is gone.
func (g *guests) keep(seen map[string]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for uid := range g.active {
		if !seen[uid] {
			delete(g.active, uid)
		}
	}
}

// SetBackend makes the ports of a VMI those of a real machine, such as a qemu that a test has started from the migrated
// disk: whatever port is asked for, hostPort is dialled. "" gives the VMI its simulated guest back.
func (s *Server) SetBackend(namespace, vmi, hostPort string) {
	s.guests.mu.Lock()
	defer s.guests.mu.Unlock()
	if hostPort == "" {
		delete(s.guests.backends, place{namespace, vmi})
		return
	}
	s.guests.backends[place{namespace, vmi}] = hostPort
}

// GuestState says how far the guest of a VMI came.
type GuestState struct {
	Up    bool   `json:"up"`    // its web server answers
	Agent bool   `json:"agent"` // its agent is connected
	Why   string `json:"why"`   // it did not come up
}

// Guest says how far the guest of a VMI came; false means that it does not run.
func (s *Server) Guest(namespace, vmi string) (GuestState, bool) {
	var out GuestState
	found := false
	s.store.view(func(t tx) {
		o := t.get(&instances, namespace, vmi)
		if g := s.guests.of(uid(o)); o != nil && g != nil {
			out, found = GuestState{g.disk != nil, g.agent, g.why}, true
		}
	})
	return out, found
}

// boot decides whether the machine comes up with the disk, the firmware and the devices that it was given.
func (s *Server) boot(t tx, g *guest, vmi *virtv1.VirtualMachineInstance) {
	g.booted = true
	disk, err := s.bootDisk(t, vmi)
	if err != nil {
		g.why = err.Error()
		return
	}
	g.disk = disk
}

func (s *Server) bootDisk(t tx, vmi *virtv1.VirtualMachineInstance) (*Guest, error) {
	disks := slices.Clone(vmi.Spec.Domain.Devices.Disks)
	slices.SortStableFunc(disks, func(a, b virtv1.Disk) int { return cmp.Compare(order(a), order(b)) })
	if len(disks) == 0 {
		return nil, fmt.Errorf("no bootable device: the machine has no disk")
	}
	i := slices.IndexFunc(vmi.Spec.Volumes, func(v virtv1.Volume) bool { return v.Name == disks[0].Name })
	if i < 0 || claimOf(vmi.Spec.Volumes[i]) == "" {
		return nil, fmt.Errorf("no bootable device: disk %s is not on a claim", disks[0].Name)
	}
	claim := t.get(&claims, vmi.Namespace, claimOf(vmi.Spec.Volumes[i]))
	if claim == nil {
		return nil, fmt.Errorf("no bootable device: the claim of disk %s is gone", disks[0].Name)
	}
	f, err := os.Open(s.volume(t, claim).Path)
	if err != nil {
		return nil, fmt.Errorf("no bootable device: %w", err)
	}
	defer f.Close()
	g, err := ReadGuest(f)
	if err != nil {
		return nil, err
	}
	if fw := firmware(vmi); g.Firmware != "" && g.Firmware != fw {
		return nil, fmt.Errorf("no bootable device: the disk boots with %s, the machine has %s", g.Firmware, fw)
	}
	if bus, _ := busOf(disks[0]); g.Buses != nil && !slices.Contains(g.Buses, cmp.Or(string(bus), "sata")) {
		return nil, fmt.Errorf("the operating system stops: it has no driver for the bus %s of its root disk", bus)
	}
	return g, nil
}

func order(d virtv1.Disk) uint {
	if d.BootOrder == nil {
		return ^uint(0)
	}
	return *d.BootOrder
}

func firmware(vmi *virtv1.VirtualMachineInstance) string {
	if f := vmi.Spec.Domain.Firmware; f != nil && f.Bootloader != nil && f.Bootloader.EFI != nil {
		return "efi"
	}
	return "bios"
}

// answers says whether something listens on the port of the machine's pod address, or why not.
func (g *guest) answers(vmi *virtv1.VirtualMachineInstance, port int) error {
	if !g.booted || g.disk == nil || g.disk.Port != port {
		return errRefused
	}
	for _, in := range vmi.Spec.Domain.Devices.Interfaces {
		pod := slices.ContainsFunc(vmi.Spec.Networks, func(n virtv1.Network) bool { return n.Name == in.Name && n.Pod != nil })
		if pod && in.State != virtv1.InterfaceStateLinkDown && (g.disk.NICs == nil || slices.Contains(g.disk.NICs, cmp.Or(in.Model, "virtio"))) {
			return nil
		}
	}
	return errNoRoute
}

// ServeHTTP is the web server in the guest.
func (g *Guest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, ok := g.Pages[path.Clean("/"+r.URL.Path)]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", cmp.Or(page.Type, "text/html"))
	w.WriteHeader(cmp.Or(page.Status, http.StatusOK))
	if r.Method != http.MethodHead {
		io.WriteString(w, page.Body)
	}
}
