package preflight

import (
	"fmt"

	"landfall/engine/spec"
)

var hostRules = []Rule{
	{"host.space", Blocker, "The disks are staged on this machine once.", "Free room, or move the workspace to a larger file system.",
		func(f Facts) []hit {
			return one(f.Host != nil && f.Host.Free < f.Host.Needed, "host", fmt.Sprintf("%s free in the staging directory, up to %s needed", size(free(f)), size(needed(f))))
		}},
	{"tool.qemuimg", Blocker, "The conversion asked for needs qemu-img.", "Install qemu-utils, or use conversion None.",
		func(f Facts) []hit {
			if f.Spec.Strategy.Conversion != spec.ConvertQemuImg || f.Host == nil {
				return nil
			}
			return one(f.Host.QemuImg == "", "host", f.Host.QemuError)
		}},
}

func free(f Facts) int64 {
	if f.Host == nil {
		return 0
	}
	return f.Host.Free
}

func needed(f Facts) int64 {
	if f.Host == nil {
		return 0
	}
	return f.Host.Needed
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
