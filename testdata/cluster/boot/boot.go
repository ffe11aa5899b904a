// Package boot is the lab's layer boot: a virt-handler of our own in place of the played one, so that a machine that runs is a
// qemu with the very files of its claims, and its guest answers.
package boot

import (
	"context"
	"os"
	"os/exec"

	"landfall/testdata/cluster/build"
	"landfall/testdata/cluster/control"
	"landfall/testdata/cluster/lab"
	"landfall/testdata/cluster/vm"
)

var handler = build.Program{Name: "guest-handler", Pins: "..", Package: "./boot/handler", Cost: 160}

// Programs are what the layer is made of.
var Programs = []build.Program{handler}

// Up starts the layer.
func Up(ctx context.Context, l *lab.Lab, b build.Builder) error {
	for _, tool := range []string{"qemu-system-x86_64", "ip"} {
		if _, err := exec.LookPath(tool); err != nil {
			return err
		}
	}
	program, err := b.Path(handler)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.Path("guests"), 0o700); err != nil {
		return err
	}
	if err := vm.Unplay(ctx, l, b); err != nil {
		return err
	}
	return l.Start(lab.Process{Name: "guest-handler", Argv: []string{program, "--account", control.Kubeconfig(l, "virt-handler"),
		"--kubelet", l.Kubeconfig(), "--node", vm.Node, "--dir", l.Path("guests")}})
}
