package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bus is where the guest's disk hangs.
type Bus string

const (
	Virtio Bus = "virtio"
	SATA   Bus = "sata"
	SCSI   Bus = "scsi" // virtio-scsi
)

// BootOptions describe the machine around the disk, as a rendered virtual
// machine would.
type BootOptions struct {
	Firmware  Firmware // BIOS if empty; EFI needs the package ovmf
	Bus       Bus      // Virtio if empty
	NIC       string   // a qemu network card: virtio-net-pci if empty, e1000e, vmxnet3
	MAC       string   // qemu's own if empty
	Format    string   // of the image: raw if empty, qcow2
	MemoryMiB int      // 512 if zero; EFI needs about as much
	Dir       string   // for the console log and qemu's temporary files; a new temporary folder if empty
}

// Running is a guest that was started.
type Running struct {
	HostPort string // the address on this machine that leads to the guest's port 80
	Console  string // path of the log of its serial console

	cancel context.CancelFunc
	exited chan struct{}
	err    error // why qemu ended, never nil once exited is closed
}

// Boot starts the image under qemu's own emulation and returns at once; Page
// waits for the guest. What the guest writes is thrown away, the image stays
// as it is. The guest ends with Stop, with ctx, or with this process.
func Boot(ctx context.Context, image string, opts BootOptions) (*Running, error) {
	if _, err := os.Stat(image); err != nil {
		return nil, fmt.Errorf("booting a guest: %w", err)
	}
	dir := opts.Dir
	if dir == "" {
		made, err := os.MkdirTemp("", "landfall-guest-")
		if err != nil {
			return nil, fmt.Errorf("booting a guest: %w", err)
		}
		dir = made
	}
	port, err := freePort()
	if err != nil {
		return nil, fmt.Errorf("booting a guest: %w", err)
	}
	vm := &Running{
		HostPort: "127.0.0.1:" + strconv.Itoa(port),
		Console:  filepath.Join(dir, "console.log"),
		exited:   make(chan struct{}),
	}
	args, err := opts.arguments(image, vm)
	if err != nil {
		return nil, fmt.Errorf("booting a guest: %w", err)
	}

	ctx, vm.cancel = context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	var said strings.Builder
	cmd.Stderr = &said

	started := make(chan error)
	go func() {
		// The kernel ends qemu with the thread that started it, so the thread
		// is kept for as long as qemu runs.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		vm.err = cmd.Wait()
		if vm.err == nil {
			vm.err = errors.New("it powered off")
		}
		if text := strings.TrimSpace(said.String()); text != "" {
			vm.err = errors.Join(vm.err, errors.New(text[:min(len(text), 500)]))
		}
		close(vm.exited)
	}()
	if err := <-started; err != nil {
		vm.cancel()
		return nil, fmt.Errorf("booting a guest: %w (Debian's package qemu-system-x86 has it)", err)
	}
	return vm, nil
}

func (o BootOptions) arguments(image string, vm *Running) ([]string, error) {
	orElse := func(value, fallback string) string {
		if value == "" {
			return fallback
		}
		return value
	}
	memory := o.MemoryMiB
	if memory == 0 {
		memory = 512
	}
	nic := orElse(o.NIC, "virtio-net-pci") + ",netdev=net0"
	if o.MAC != "" {
		nic += ",mac=" + o.MAC
	}
	args := []string{
		// KVM may be there and yet hang the guest, where machines are nested.
		"-machine", "q35,accel=tcg", "-cpu", "qemu64", "-smp", "1", "-m", strconv.Itoa(memory),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-snapshot",
		"-serial", "file:" + vm.Console,
		"-netdev", "user,id=net0,restrict=on,hostfwd=tcp:" + vm.HostPort + "-:80",
		"-device", nic,
		"-drive", "if=none,id=disk0,format=" + orElse(o.Format, "raw") + ",file=" + comma(image),
	}
	switch o.Bus {
	case Virtio, "":
		args = append(args, "-device", "virtio-blk-pci,drive=disk0,bootindex=1")
	case SATA:
		args = append(args, "-device", "ide-hd,bus=ide.0,drive=disk0,bootindex=1")
	case SCSI:
		args = append(args, "-device", "virtio-scsi-pci", "-device", "scsi-hd,drive=disk0,bootindex=1")
	default:
		return nil, fmt.Errorf("bus %q is none of virtio, sata, scsi", o.Bus)
	}

	switch o.Firmware {
	case BIOS, "":
	case EFI:
		for _, part := range []string{"CODE", "VARS"} {
			flash, err := ovmf(part)
			if err != nil {
				return nil, err
			}
			args = append(args, "-drive", "if=pflash,format=raw,file="+flash)
		}
	default:
		return nil, fmt.Errorf("firmware %q is neither bios nor efi", o.Firmware)
	}
	return args, nil
}

// comma keeps qemu from taking part of a file name for another option.
func comma(path string) string { return strings.ReplaceAll(path, ",", ",,") }

func ovmf(part string) (string, error) {
	for _, name := range []string{"OVMF_" + part + "_4M.fd", "OVMF_" + part + ".fd"} {
		path := filepath.Join("/usr/share/OVMF", name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no EFI firmware in /usr/share/OVMF: install Debian's package ovmf")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Page waits until the guest answers a request for the path, "/" or
// "/cgi-bin/hardware", and returns the page. It gives up with ctx, or when the
// guest ends, and then says what the guest's console said last.
func (r *Running) Page(ctx context.Context, path string) (string, error) {
	var last error
	for {
		page, err := r.get(ctx, path)
		if err == nil {
			return page, nil
		}
		last = err
		select {
		case <-r.exited:
			return "", fmt.Errorf("the guest ended (%w) before it served %s; its console: %s", r.err, path, r.tail())
		case <-ctx.Done():
			return "", fmt.Errorf("waiting for the guest's page %s: %w (last: %w); its console: %s", path, ctx.Err(), last, r.tail())
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (r *Running) get(ctx context.Context, path string) (string, error) {
	// Until the guest is up, qemu accepts a connection and leaves it hanging.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.HostPort+path, nil)
	if err != nil {
		return "", err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the guest answers %s", resp.Status)
	}
	return string(body), nil
}

// tail is the end of the console, on one line.
func (r *Running) tail() string {
	text, err := os.ReadFile(r.Console)
	if err != nil {
		return err.Error()
	}
	return strconv.Quote(string(text[max(0, len(text)-1500):]))
}

// Stop ends the guest as a power cut would, and waits until it is gone. It
// may be called again.
func (r *Running) Stop() {
	r.cancel()
	<-r.exited
}
