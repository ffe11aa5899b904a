package targets

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"landfall/engine/machine"
	"landfall/engine/spec"
)

// maxName is the longest name that also fits a label value and a DNS label.
const maxName = 63

// LabelMigration marks everything that is made for a migration with the migration's UID.
const LabelMigration = "landfall.dev/migration"

// VMName gives the name of a VM in the cluster by a spec: the one asked for, else the one that follows from its own.
func VMName(vm machine.VM, s spec.Spec) string {
	if s.Destination.VMName != "" {
		return s.Destination.VMName
	}
	return Name(vm.Name, vm.Ref.InstanceUUID)
}

// Name gives the name under which a VM is made in a cluster: lower case, every run of other characters than letters,
// digits and dashes one dash, at most 63 characters, where a longer one is cut and ends in a digest of the whole. A name of
// which nothing is left becomes "vm-" and the start of the instance UUID. It depends on nothing else, so that every retry
// gives the same one; that two VMs do not get one name is for Collisions to see.
func Name(vmName, instanceUUID string) string {
	switch n := label(vmName); {
	case len(n) > maxName:
		return strings.TrimRight(n[:maxName-9], "-") + "-" + digest(vmName)
	case n != "":
		return n
	}
	id := label(strings.ReplaceAll(instanceUUID, "-", ""))
	id = strings.TrimRight(id[:min(len(id), 8)], "-")
	if id == "" {
		id = digest(vmName)
	}
	return "vm-" + id
}

// VolumeName gives the name of the volume of disk n of the VM with the rendered name vm. Long names are cut in the
// middle and carry a digest of the whole, so that two VMs never share a volume.
func VolumeName(vm string, n int) string { return Suffixed(vm, "-disk-"+strconv.Itoa(n)) }

// Suffixed gives name+suffix, cut to a DNS label where it is too long: what is cut is stood for by a digest.
func Suffixed(name, suffix string) string {
	if len(name)+len(suffix) <= maxName {
		return name + suffix
	}
	keep := max(maxName-len(suffix)-9, 0)
	return strings.TrimRight(name[:keep], "-") + "-" + digest(name) + suffix
}

func label(s string) string {
	var b strings.Builder
	dash := false // the last thing written stands for a run of other characters
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			dash = false
		case r == '-':
			if dash {
				continue
			}
		default:
			if dash || strings.HasSuffix(b.String(), "-") {
				continue
			}
			r, dash = '-', true
		}
		b.WriteRune(r)
	}
	return strings.Trim(b.String(), "-")
}

func digest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:4])
}
