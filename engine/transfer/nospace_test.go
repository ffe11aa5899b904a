package transfer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"landfall/engine/fault"
	"landfall/engine/transfer"
)

func TestNoSpaceKeepsThePartialAndGoesOn(t *testing.T) {
	data := content(60*mib, 51)
	for i := 0; i < len(data); i += 4096 {
		data[i] |= 1
	}
	files, ledger := newMemFiles(), &memLedger{}
	files.quota = 20*mib + 64<<10 // the rest is for the blocks' digests
	job := transfer.Job{Disk: &memDisk{data: data, streams: 3}, Path: "/vm/disk", Ledger: ledger, Files: files}
	_, err := transfer.Copy(t.Context(), job)
	wantFault(t, err, fault.Blocked, fault.NoSpace)
	if !strings.Contains(err.Error(), "/vm/disk.partial") || !strings.Contains(fault.HintOf(err), "40 MiB more in /vm") {
		t.Errorf("error %q with hint %q", err, fault.HintOf(err))
	}
	if ledger.count() != 20 {
		t.Errorf("%d chunks recorded of 20 that fitted", ledger.count())
	}
	files.quota, files.used = 100*mib, 20*mib
	progress := &transfer.Progress{}
	job.Progress = progress
	mustCopy(t, job)
	sameImage(t, files, "/vm/disk", data)
	if f := progress.Figures(); f.Read != 40*mib {
		t.Errorf("read %d bytes after space was made", f.Read)
	}
}

func TestFullTmpfs(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("cannot mount a tmpfs here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, 0) })
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 8*mib), 0o600); err != nil {
		t.Fatal(err)
	}
	data := content(30*mib, 52)
	for i := range data[:12*mib] {
		data[i] |= 1
	}
	clear(data[12*mib:])
	ledger := &memLedger{}
	job := transfer.Job{Disk: &memDisk{data: data, streams: 2}, Path: filepath.Join(dir, "vm", "disk"), Ledger: ledger}
	_, err := transfer.Copy(t.Context(), job)
	wantFault(t, err, fault.Blocked, fault.NoSpace)
	if ledger.count() == 0 {
		t.Error("nothing was recorded of what fitted")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	mustCopy(t, job)
	sameImage(t, nil, job.Path, data)
}
