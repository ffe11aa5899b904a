package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"landfall/engine"
	"landfall/engine/convert"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/sources/vsphere"
	"landfall/store"
	"landfall/targets"
	"landfall/targets/kubevirt"
)

// dialSource connects to a source by its type; the document was checked, so that there is only one.
func dialSource(ctx context.Context, s spec.Source, again bool) (sources.Source, error) {
	return vsphere.Dial(ctx, s, vsphere.Options{Again: again})
}

func dialTarget(ctx context.Context, d spec.Destination, _ bool) (targets.Target, error) {
	return kubevirt.Dial(ctx, d, kubevirt.Options{})
}

// newEngine puts an engine together for the workspace.
func newEngine(dir string, s *store.Store, log *slog.Logger, o engineOptions) (*engine.Engine, error) {
	staging := filepath.Join(dir, "staging")
	if err := os.MkdirAll(staging, 0o700); err != nil {
		return nil, err
	}
	return engine.New(engine.Config{
		Store: s, Source: dialSource, Target: dialTarget, Convert: convert.QemuImg{}, Staging: staging,
		Host: func(ctx context.Context, s spec.Spec) preflight.Host { return hostFacts(ctx, staging, s) },
		Log:  log, Version: Version, Permits: o.permits, Poll: o.poll, Backoff: o.backoff,
	}), nil
}

// hostFacts looks at this machine for the rules.
func hostFacts(ctx context.Context, staging string, o spec.Spec) preflight.Host {
	h := preflight.Host{Staging: staging, Free: -1}
	var st unix.Statfs_t
	if err := unix.Statfs(staging, &st); err == nil {
		h.Free = int64(st.Bavail) * st.Bsize
		h.FileLimit = fileLimit(st.Type)
	}
	if o.Strategy.Conversion == spec.ConvertQemuImg {
		v, err := convert.QemuImg{}.Version(ctx)
		h.QemuImg = v
		if err != nil {
			h.QemuError = err.Error()
		}
	}
	return h
}

// fileLimit is the largest file that a file system, or this process, may have; 0 is not known to be bounded.
func fileLimit(kind int64) (limit int64) {
	switch kind {
	case unix.MSDOS_SUPER_MAGIC:
		limit = 4<<30 - 1
	case unix.EXT4_SUPER_MAGIC: // also ext2 and ext3, which with small blocks take less
		limit = 16 << 40
	}
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &r); err == nil && r.Cur != unix.RLIM_INFINITY && (limit == 0 || r.Cur < uint64(limit)) {
		limit = int64(r.Cur)
	}
	return limit
}
