package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"landfall/engine/machine"
	"landfall/sources"
)

var sourceRules = []Rule{
	{"source.license", Warning, "The source's licence refuses changes by its API, so the VM cannot be powered off from here: a blocker until it is off.", "Shut the VM down in the host's own client, then check again; reading its disks goes on working.",
		func(f Facts) []hit {
			switch {
			case f.Source == nil:
				return cannot("source", "the source was not looked at")
			case f.Source.ReadOnly == "":
				return nil
			case f.VM.Power == machine.Off:
				return one(true, "source", f.Source.ReadOnly)
			}
			return []hit{{subject: "source", found: f.Source.ReadOnly, level: Blocker}}
		}},
	{"source.privileges", Blocker, "The account may not do what the migration needs.", "Give the account's role the privileges that are named, on the VM and what it lies on.",
		probed(sources.KnownPrivileges, func(f Facts) []hit {
			lacks := f.Probe.Missing
			if f.warm() {
				lacks = slices.Concat(lacks, f.Probe.MissingWarm)
			}
			return one(len(lacks) > 0, "source", "the account lacks "+strings.Join(lacks, ", "))
		})},
	{"source.maintenance", Warning, "A host in maintenance mode is about to be worked on: it may go away in the middle of the copy.", "Wait until it is out of maintenance, or move the VM to another host.",
		probed(sources.KnownHost, func(f Facts) []hit {
			return one(f.Probe.Maintenance, "source", strings.TrimSpace("host "+f.VM.Host)+" is in maintenance mode")
		})},
	{"source.host.status", Warning, "The host itself says that something is wrong with it. A decision where it says so in red.", "Look at the host's alarms, then check again.",
		probed(sources.KnownHost, func(f Facts) []hit {
			s := f.Probe.Status
			h := hit{subject: "source", found: strings.TrimSuffix("overall status "+s+": "+strings.Join(f.Probe.StatusWhy, "; "), ": ")}
			switch s {
			case "green":
				return nil
			case "":
				return cannot("source", "the host gives no overall status")
			case "red":
				h.level = Decide
			}
			return []hit{h}
		})},
	{"source.ports", Blocker, "A way that the bytes take is not open from this machine.", "Open the port in the firewalls between this machine and the host.",
		probed(sources.KnownPorts, func(f Facts) (hits []hit) {
			for _, p := range f.Probe.Ports {
				if p.Failure != "" && (!p.Warm || f.warm()) {
					hits = append(hits, hit{subject: "source, " + p.Address, found: fmt.Sprintf("%s (for %s): %s", p.Address, p.For, p.Failure)})
				}
			}
			return hits
		})},
	{"source.certificate", Blocker, "Whoever answers at the source's address did not prove to be the one that was trusted. A warning where the pinned certificate itself has expired.", "Compare the fingerprint on the host's own console; then connect anew and trust it.",
		func(f Facts) []hit {
			if f.Probe == nil {
				return nil
			}
			c := f.Probe.Certificate
			switch expired := !c.Expires.IsZero() && !f.Now.Before(c.Expires); {
			case c.Failure != "":
				return one(true, "source", fmt.Sprintf("%s; seen %s, trusted %s", c.Failure, cmp.Or(c.Seen, "none"), cmp.Or(c.Wanted, "by an authority")))
			case expired && c.Wanted != "" && c.Wanted == c.Seen:
				return []hit{{subject: "source", level: Warning, found: fmt.Sprintf("the pinned certificate %s expired on %s", c.Seen, c.Expires.UTC().Format("2006-01-02"))}}
			case expired:
				return one(true, "source", fmt.Sprintf("the certificate %s expired on %s", c.Seen, c.Expires.UTC().Format("2006-01-02")))
			}
			return nil
		}},
	{"source.reader", Blocker, "No reader can read this disk as it is now.", "A chain: remove the VM's snapshots and consolidate its disks. A raw device: convert it to a virtual disk (vmkfstools -i). Else: mend what a reader names.",
		readers},
	{"source.space.snapshot", Warning, "A warm migration writes what the guest changes into a snapshot on the datastore; when that is full, the VM stops.", "Free room on the datastore, or migrate it cold.",
		warmOnly(probed(sources.KnownRoom, snapshotRoom))},
}

// probed runs a rule on what was found out about the source, where it was.
func probed(group string, check func(Facts) []hit) func(Facts) []hit {
	return func(f Facts) []hit {
		if f.Probe == nil {
			return nil
		}
		if why := f.Probe.Unknown[group]; why != "" {
			return cannot("source", why)
		}
		return check(f)
	}
}

// readers finds the disks that nobody can read: by what each reader said when it was tried, or by the kind of the disk.
func readers(f Facts) (hits []hit) {
	said, works := map[int32][]string{}, map[int32]bool{}
	if f.Probe != nil {
		if why := f.Probe.Unknown[sources.KnownReaders]; why != "" {
			return cannot("source", why)
		}
		for _, r := range f.Probe.Readers {
			if r.Warm && !f.warm() {
				continue
			}
			works[r.Disk] = works[r.Disk] || r.Works
			said[r.Disk] = append(said[r.Disk], fmt.Sprintf("reader %s: %s", r.Reader, cmp.Or(r.Said, "no")))
		}
	}
	for i, d := range f.VM.DiskList {
		found := ""
		switch {
		case works[d.Key]:
		case len(said[d.Key]) > 0:
			found = strings.Join(said[d.Key], "; ")
		case d.Parent || d.Backing == machine.SparseDelta:
			found = "reader folder: the disk is a chain of files (" + d.Path + ")"
		case d.Backing == machine.RDMVirtual:
			found = "reader folder: the disk is a raw device and no file (" + d.Path + ")"
		}
		if found == "" {
			continue
		}
		h := hit{subject: diskName(i, d), found: found}
		if d.Parent && f.VM.Consolidate && !f.VM.Snapshots && len(f.VM.SnapshotNames) == 0 {
			h.remedy = consolidation()
		}
		hits = append(hits, h)
	}
	return hits
}

// snapshotShare is the part of a disk that a guest is reckoned to change while it is copied.
const snapshotShare = 10

// snapshotRoom compares the datastores with what the snapshots of the VM's disks may grow to.
func snapshotRoom(f Facts) (hits []hit) {
	need := map[string]int64{}
	for _, d := range f.VM.DiskList {
		if d.Capacity > 0 {
			need[d.Datastore] = plus(need[d.Datastore], max(d.Capacity/snapshotShare, 1<<30))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(need)) {
		switch free, known := f.Probe.Room[name]; {
		case !known:
			hits = append(hits, hit{subject: "datastore " + name, found: "could not check: its free room is not known", unchecked: true})
		case free < need[name]:
			hits = append(hits, hit{subject: "datastore " + name, found: fmt.Sprintf("%s free, up to %s may be needed", size(free), size(need[name]))})
		}
	}
	return hits
}
