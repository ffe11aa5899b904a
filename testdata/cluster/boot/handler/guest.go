package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	virt "kubevirt.io/api/core/v1"
)

// guest is a qemu that was started. A nil guest is none.
type guest struct {
	dir   string
	pod   pod             // whose address and ports are the guest's
	ports map[string]bool // that are forwarded
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // how qemu ended, once ended is closed
	asked time.Time

	mu    sync.Mutex
	hears agentState
}

func (g *guest) path(name string) string { return filepath.Join(g.dir, name) }

// start boots the instance from the files of its claims.
func (h *handler) start(ctx context.Context, vmi *virt.VirtualMachineInstance) (*guest, error) {
	files, err := h.files(ctx, vmi)
	if err != nil {
		return nil, err
	}
	in, err := h.launcher(ctx, vmi)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(h.dir, string(vmi.UID))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make room for the guest: %w", err)
	}
	m := machine{dir: dir, disks: files}
	if efi(vmi) {
		if m.code, m.vars, err = firmware(dir, secure(vmi)); err != nil {
			return nil, err
		}
	}
	args, err := m.arguments(vmi)
	if err != nil {
		return nil, err
	}
	g := &guest{dir: dir, pod: in, ports: map[string]bool{}, ended: make(chan struct{})}
	if err := g.run(args); err != nil {
		return nil, err
	}
	log.Printf("instance %s/%s: qemu %d on %s, console %s", vmi.Namespace, vmi.Name, g.cmd.Process.Pid, in.address, g.path("console.log"))
	g.downLinks(vmi)
	go g.listen()
	return g, nil
}

func (g *guest) run(args []string) error {
	said, err := os.OpenFile(g.path("qemu.log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("start qemu: %w", err)
	}
	// qemu lives in the pod's network, as in a real launcher, so that the guest's ports are ports of the pod's address.
	g.cmd = exec.Command("nsenter", append([]string{"--net=" + g.pod.network, "--", "qemu-system-x86_64"}, args...)...)
	g.cmd.Stdout, g.cmd.Stderr = said, said
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	began := make(chan error)
	go func() {
		// The kernel ends qemu with the thread that started it, so the thread is kept for as long as qemu runs.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer said.Close()
		err := g.cmd.Start()
		began <- err
		if err == nil {
			g.err = g.cmd.Wait()
			close(g.ended)
		}
	}()
	if err := <-began; err != nil {
		return fmt.Errorf("start qemu: %w (Debian's package qemu-system-x86 has it)", err)
	}
	// It may refuse what it was told at once: another qemu holds the disk, say.
	for range 100 {
		select {
		case <-g.ended:
			return fmt.Errorf("qemu ended at once: %w: %s", cmpErr(g.err), g.lastWords())
		case <-time.After(50 * time.Millisecond):
		}
		if _, err := g.monitor(); err == nil {
			return nil
		}
	}
	g.cut()
	return errors.New("qemu does not answer: " + g.lastWords())
}

func cmpErr(err error) error {
	if err == nil {
		return errors.New("it powered off")
	}
	return err
}

func (g *guest) state() state {
	if g == nil {
		return noGuest
	}
	select {
	case <-g.ended:
		if g.err == nil {
			return poweredOff
		}
		return crashed
	default:
		return alive
	}
}

// why says how a guest ended that nobody asked to.
func (g *guest) why() string {
	if g == nil {
		return "the guest is gone with the handler that ran it"
	}
	return fmt.Sprintf("qemu ended: %v: %s", g.err, g.lastWords())
}

func (g *guest) lastWords() string {
	b, err := os.ReadFile(g.path("qemu.log"))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b[max(0, len(b)-500):]))
}

// shutDown asks the guest to end, once, and cuts its power when it has had its time.
func (g *guest) shutDown(now time.Time, grace *int64) {
	if g.asked.IsZero() {
		g.asked = now
		_, _ = g.monitor(command{Execute: "system_powerdown"})
	}
	patience := 30 * time.Second
	if grace != nil {
		patience = time.Duration(*grace) * time.Second
	}
	if now.Sub(g.asked) >= patience {
		g.cut()
	}
}

// cut ends the guest as a power cut would, with what it wrote flushed, and waits until it is gone.
func (g *guest) cut() {
	if g.state() != alive {
		return
	}
	_, _ = g.monitor(command{Execute: "quit"})
	select {
	case <-g.ended:
	case <-time.After(5 * time.Second):
		_ = g.cmd.Process.Kill()
		<-g.ended
	}
}

// downLinks unplugs the interfaces whose link is to be down.
func (g *guest) downLinks(vmi *virt.VirtualMachineInstance) {
	for i, n := range vmi.Spec.Domain.Devices.Interfaces {
		if n.State == virt.InterfaceStateLinkDown {
			if _, err := g.monitor(command{"set_link", map[string]any{"name": fmt.Sprintf("nic%d", i), "up": false}}); err != nil {
				log.Printf("instance %s/%s: interface %s: %v", vmi.Namespace, vmi.Name, n.Name, err)
			}
		}
	}
}

// firmware gives OVMF and a fresh copy of its variables, for this run of the guest alone.
func firmware(dir string, secure bool) (code, vars string, err error) {
	code, blank := "/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"
	if secure {
		code, blank = "/usr/share/OVMF/OVMF_CODE_4M.secboot.fd", "/usr/share/OVMF/OVMF_VARS_4M.ms.fd"
	}
	vars = filepath.Join(dir, "vars.fd")
	b, err := os.ReadFile(blank)
	if err == nil {
		err = os.WriteFile(vars, b, 0o600)
	}
	if err != nil {
		return "", "", fmt.Errorf("prepare EFI firmware: %w (Debian's package ovmf has it)", err)
	}
	return code, vars, nil
}
