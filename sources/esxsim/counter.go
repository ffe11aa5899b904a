package esxsim

import (
	"maps"
	"slices"
	"sync"
)

// Counters is what the host has done since its start or the last reset.
type Counters struct {
	Calls        map[string]int64 `json:"calls"` // per SOAP method, faults of the script included
	Logins       int64            `json:"logins"`
	FailedLogins int64            `json:"failedLogins"` // wrong user or password, by API or basic authentication
	LockedLogins int64            `json:"lockedLogins"` // refused because the account was locked
	Sessions     int              `json:"sessions"`     // alive now
	Requests     int64            `json:"requests"`     // of /folder, whatever the answer
	Refused      map[int]int64    `json:"refused"`      // answers of /folder from 400 up, per status
	MaxParallel  int              `json:"maxParallel"`  // most /folder requests at a time
	Leases       int64            `json:"leases"`       // export leases made
	// LeasesExpired are those that ended because nobody kept them alive.
	LeasesExpired int64          `json:"leasesExpired"`
	Files         []FileCounters `json:"files"` // by path
}

// FileCounters is what was served of one file.
type FileCounters struct {
	Path     string   `json:"path"`           // "[datastore] dir/file"
	VM       string   `json:"vm,omitempty"`   // instance UUID, if it is a disk's
	Disk     int      `json:"disk"`           // index in the VM's disks; -1 if it is none's
	Role     string   `json:"role,omitempty"` // extent or descriptor
	Requests int64    `json:"requests"`       // GET and HEAD
	Bytes    int64    `json:"bytes"`
	Served   []Served `json:"served,omitempty"` // in the order of their end
}

// Served is one answered GET.
type Served struct {
	Offset int64 `json:"offset"`
	Asked  int64 `json:"asked"`  // length that the headers announced
	Length int64 `json:"length"` // bytes handed to the connection
}

// Twice is how many bytes of the file were served more than once.
func (f FileCounters) Twice() int64 { return f.Bytes - f.Distinct() }

// Distinct is how many bytes of the file were served at least once.
func (f FileCounters) Distinct() int64 {
	served := slices.SortedFunc(slices.Values(f.Served), func(a, b Served) int {
		if a.Offset < b.Offset {
			return -1
		}
		return 1
	})
	var sum, end int64
	for _, r := range served {
		from, to := max(r.Offset, end), r.Offset+r.Length
		if to > from {
			sum, end = sum+to-from, to
		}
	}
	return sum
}

// File finds the counters of a file by its datastore path.
func (c Counters) File(path string) FileCounters {
	for _, f := range c.Files {
		if f.Path == path {
			return f
		}
	}
	return FileCounters{Path: path, Disk: -1}
}

// Extents are the counters of a VM's extents, by its instance UUID.
func (c Counters) Extents(instanceUUID string) []FileCounters {
	var list []FileCounters
	for _, f := range c.Files {
		if f.VM == instanceUUID && f.Role == "extent" {
			list = append(list, f)
		}
	}
	return list
}

type counting struct {
	mu       sync.Mutex
	c        Counters
	files    map[string]*FileCounters
	parallel int
}

func (k *counting) reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.c = Counters{Calls: map[string]int64{}, Refused: map[int]int64{}}
	k.files = map[string]*FileCounters{}
}

func (k *counting) snapshot() Counters {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.c
	c.Calls, c.Refused = maps.Clone(c.Calls), maps.Clone(c.Refused)
	for _, p := range slices.Sorted(maps.Keys(k.files)) {
		f := *k.files[p]
		f.Served = slices.Clone(f.Served)
		c.Files = append(c.Files, f)
	}
	return c
}

func (k *counting) call(method string) { k.locked(func() { k.c.Calls[method]++ }) }

func (k *counting) locked(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

// enter counts a /folder request in and says how many there are now.
func (k *counting) enter() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.c.Requests++
	k.parallel++
	k.c.MaxParallel = max(k.c.MaxParallel, k.parallel)
	return k.parallel
}

func (k *counting) leave(status int) {
	k.locked(func() {
		k.parallel--
		if status >= 400 {
			k.c.Refused[status]++
		}
	})
}

// served counts an answer with a body, or a HEAD when get is false.
func (k *counting) served(f FileCounters, get bool, r Served) {
	k.locked(func() {
		have := k.files[f.Path]
		if have == nil {
			have = &f
			k.files[f.Path] = have
		}
		have.Requests++
		have.Bytes += r.Length
		if get {
			have.Served = append(have.Served, r)
		}
	})
}
