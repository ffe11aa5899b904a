package preflight

import (
	"cmp"
	"fmt"

	"landfall/engine/spec"
)

var hostRules = []Rule{
	{"host.space", Blocker, "The disks are staged on this machine once.", "Free room, or move the workspace to a larger file system, or to one that takes files of that size.",
		func(f Facts) (hits []hit) {
			h := f.Host
			switch {
			case h == nil:
				return cannot("host", "this machine was not looked at")
			case h.Free < 0:
				return cannot("host", "the free space of the staging directory is not known")
			case h.Free < h.Needed:
				hits = one(true, "host", fmt.Sprintf("%s free in the staging directory, up to %s needed", size(h.Free), size(h.Needed)))
			}
			if h.FileLimit > 0 && h.Largest > h.FileLimit {
				hits = append(hits, hit{subject: "host, one file", found: fmt.Sprintf("the file system of the staging directory takes files of up to %s, an image of %s is needed", size(h.FileLimit), size(h.Largest))})
			}
			return hits
		}},
	{"tool.qemuimg", Blocker, "The conversion asked for needs qemu-img, not too old a one.", "Install qemu-utils, or use conversion None.",
		tool(spec.ConvertQemuImg, "qemu-img", func(h Host) (string, string, string) { return h.QemuImg, h.QemuError, h.QemuOld })},
	{"tool.virtv2v", Blocker, "The conversion asked for needs virt-v2v-in-place, not too old a one.", "Install virt-v2v, or use another conversion.",
		tool(spec.ConvertVirtV2V, "virt-v2v", func(h Host) (string, string, string) { return h.VirtV2V, h.VirtV2VError, h.VirtV2VOld })},
}

// tool judges the program that a conversion needs: what is known of it, why it cannot be used, and what it is older than.
func tool(c spec.Conversion, name string, of func(Host) (version, failure, old string)) func(Facts) []hit {
	return func(f Facts) []hit {
		if f.Spec.Strategy.Conversion != c {
			return nil
		}
		if f.Host == nil {
			return cannot("host", "this machine was not looked at")
		}
		version, failure, old := of(*f.Host)
		switch {
		case version == "" || failure != "":
			return one(true, "host", cmp.Or(failure, name+" was not found"))
		case old != "":
			return one(true, "host", fmt.Sprintf("%s %s is older than %s", name, version, old))
		}
		return nil
	}
}

// size says bytes in binary units.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n), -1
	for v >= unit && i < 4 {
		v /= unit
		i++
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTP"[i])
}
