package kubevirt

import (
	"regexp"
	"strconv"
	"strings"

	"landfall/engine/spec"
)

// guest is what rendering derives from the guest's operating system.
type guest struct {
	kind   guestKind
	virtio bool   // its drivers can be relied on
	why    string // for the operator
}

type guestKind int

const (
	otherGuest guestKind = iota
	linuxGuest
	windowsGuest
)

// linuxSince are the releases from which a distribution's own kernel and initramfs start from virtio disks without
// being prepared for it. A family without a number has had it in every release that VMware's list still names.
var linuxSince = []struct {
	family *regexp.Regexp
	since  int
}{
	{regexp.MustCompile(`^(?:rhel|centos|oracleLinux|asianux)(\d+)`), 7},
	{regexp.MustCompile(`^debian(\d+)`), 8},
	{regexp.MustCompile(`^sles(\d+)`), 12},
	{regexp.MustCompile(`^other(\d)x?(?:\d+)?Linux`), 3},
	{regexp.MustCompile(`^(?:ubuntu|fedora|opensuse|coreos|flatcar|vmwarePhoton|amazonlinux|rockylinux|almalinux|kylin|crxPod|crxSys)`), 0},
}

// guestOf judges a guest by VMware's id of it. Only what is known to have virtio drivers gets virtio; everything else gets
// what every guest of the last twenty years starts from.
func guestOf(guestID string, c spec.Conversion) guest {
	g := guest{kind: kindOf(guestID)}
	switch {
	case c == spec.ConvertVirtV2V:
		g.virtio, g.why = true, "the conversion installed virtio drivers"
	case g.kind == windowsGuest:
		g.why = "Windows has no virtio drivers of its own"
	case g.kind == linuxGuest && hasVirtio(guestID):
		g.virtio, g.why = true, "this Linux brings virtio drivers"
	case g.kind == linuxGuest:
		g.why = "this Linux may be too old to start from virtio"
	default:
		g.why = "it is not known whether the guest has virtio drivers"
	}
	return g
}

func kindOf(id string) guestKind {
	l := strings.ToLower(id)
	switch {
	case strings.HasPrefix(l, "win"):
		return windowsGuest
	case strings.Contains(l, "linux"), hasVirtio(id):
		return linuxGuest
	}
	for _, p := range []string{"rhel", "centos", "debian", "sles", "suse", "redhat", "mandr", "turbolinux", "nld", "oes", "sjds"} {
		if strings.HasPrefix(l, p) {
			return linuxGuest
		}
	}
	return otherGuest
}

func hasVirtio(id string) bool {
	for _, row := range linuxSince {
		m := row.family.FindStringSubmatch(id)
		if m == nil {
			continue
		}
		if len(m) == 1 {
			return true
		}
		n, err := strconv.Atoi(m[1])
		return err == nil && n >= row.since
	}
	return false
}

func (g guest) diskBus() string {
	if g.virtio {
		return "virtio"
	}
	return "sata"
}

func (g guest) nicModel() string {
	if g.virtio {
		return "virtio"
	}
	return "e1000e"
}
