package preflight

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"landfall/engine/machine"
)

// warmOnly runs a rule for warm migrations.
func warmOnly(check func(Facts) []hit) func(Facts) []hit {
	return func(f Facts) []hit {
		if !f.warm() {
			return nil
		}
		return check(f)
	}
}

// inWarm gives the hits of a rule another level where the migration is warm.
func inWarm(l Level, check func(Facts) []hit) func(Facts) []hit {
	return func(f Facts) []hit {
		hits := check(f)
		for i := range hits {
			if f.warm() && !hits[i].unchecked {
				hits[i].level = l
			}
		}
		return hits
	}
}

// trackingOff finds what keeps change tracking from telling anything: the VM's switch, or a disk that has no real change id
// although the VM is switched on.
func trackingOff(f Facts) (hits []hit) {
	enable := &Remedy{ID: EnableTracking, Label: "Switch change tracking on", Outside: true,
		Effect: "changes the VM's configuration on the source; it becomes active with the first snapshot that is taken for the copy"}
	if c := f.Spec.Strategy.Warm.ChangeTracking; !f.VM.ChangeTracking && c != "" {
		return []hit{{subject: "vm", level: Info, found: "change tracking is off; it is switched on, as the document consents (" + string(c) + ")"}}
	}
	if !f.VM.ChangeTracking {
		return []hit{{subject: "vm", found: "change tracking is off", remedy: enable}}
	}
	for i, d := range f.VM.DiskList {
		if id := d.ChangeID; id == "" || strings.HasSuffix(id, "*") {
			hits = append(hits, hit{subject: diskName(i, d), found: fmt.Sprintf("change tracking is on, and the disk has no change id yet (%q)", id)})
		}
	}
	return hits
}

var release = regexp.MustCompile(`^(\d+)\.(\d+)`)

// forgetful finds disks that a release with a known fault of change tracking may have extended.
func forgetful(f Facts) (hits []hit) {
	if f.Source == nil {
		return nil // said by source.license
	}
	m := release.FindStringSubmatch(f.Source.Version)
	if m == nil {
		return cannot("source", fmt.Sprintf("the release %q is not understood", f.Source.Version))
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major > 6 || major == 6 && minor > 0 {
		return nil
	}
	const boundary = 128 << 30
	for i, d := range f.VM.DiskList {
		if d.Capacity > boundary {
			hits = append(hits, hit{subject: diskName(i, d), found: fmt.Sprintf("%s on release %s", size(d.Capacity), f.Source.Version)})
		}
	}
	return hits
}

func diskName(i int, d machine.Disk) string { return fmt.Sprintf("disk %d (%s)", i, d.Where()) }
