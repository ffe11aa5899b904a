package preflight

import (
	"cmp"
	"fmt"

	"landfall/engine/spec"
)

var hostRules = []Rule{
	{"host.space", Blocker, "The disks are staged on this machine once.", "Free room, or move the workspace to a larger file system.",
		func(f Facts) []hit {
			switch h := f.Host; {
			case h == nil:
				return cannot("host", "this machine was not looked at")
			case h.Free < 0:
				return cannot("host", "the free space of the staging directory is not known")
			default:
				return one(h.Free < h.Needed, "host", fmt.Sprintf("%s free in the staging directory, up to %s needed", size(h.Free), size(h.Needed)))
			}
		}},
	{"tool.qemuimg", Blocker, "The conversion asked for needs qemu-img.", "Install qemu-utils, or use conversion None.",
		func(f Facts) []hit {
			if f.Spec.Strategy.Conversion != spec.ConvertQemuImg || f.Host == nil {
				return nil
			}
			return one(f.Host.QemuImg == "", "host", cmp.Or(f.Host.QemuError, "qemu-img was not found"))
		}},
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
