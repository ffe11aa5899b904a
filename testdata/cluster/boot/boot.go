// Package boot is the lab's layer boot: a virt-handler of our own on the real node, so that a machine that runs there is a qemu
// with the very files of its claims, and its guest answers through services.
package boot

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"landfall/testdata/cluster/build"
	"landfall/testdata/cluster/control"
	"landfall/testdata/cluster/data"
	"landfall/testdata/cluster/lab"
	"landfall/testdata/cluster/vm"
)

var (
	handler  = build.Program{Name: "guest-handler", Pins: "..", Package: "./boot/handler", Cost: 160}
	launcher = build.Program{Name: "guest-launcher", Pins: "..", Package: "./boot/launcher", Cost: 2}
)

// Programs are what the layer is made of.
var Programs = []build.Program{handler, launcher}

// Up starts the layer.
func Up(ctx context.Context, l *lab.Lab, b build.Builder) error {
	for tool, pkg := range map[string]string{"qemu-system-x86_64": "qemu-system-x86", "nsenter": "util-linux"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is missing: apt-get install %s", tool, pkg)
		}
	}
	path := map[string]string{}
	for _, p := range Programs {
		var err error
		if path[p.Name], err = b.Path(p); err != nil {
			return err
		}
	}
	if err := data.AddImage(ctx, l, data.Image{Name: "docker.io/" + vm.Launcher, Entrypoint: []string{"/usr/bin/virt-launcher"}, Files: map[string]string{
		"/usr/bin/virt-launcher": path[launcher.Name], "/usr/bin/virt-launcher-monitor": path[launcher.Name], "/usr/bin/virt-tail": path[launcher.Name], "/bin/bash": path[launcher.Name],
	}}); err != nil {
		return err
	}
	c, err := control.Config(l)
	if err != nil {
		return err
	}
	core, err := kubernetes.NewForConfig(c)
	if err != nil {
		return err
	}
	// From now on a machine runs on the real node or not at all.
	if _, err := core.CoreV1().Nodes().Patch(ctx, vm.Node, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("keep machines off the played node: %w", err)
	}
	// Launchers ask for room that this kubelet does not count.
	if _, err := core.CoreV1().Nodes().Patch(ctx, data.NodeName, types.MergePatchType, []byte(`{"status":{"capacity":{"ephemeral-storage":"1Ti"},"allocatable":{"ephemeral-storage":"1Ti"}}}`),
		metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("offer room to launchers: %w", err)
	}
	if err := os.MkdirAll(l.Path("guests"), 0o700); err != nil {
		return err
	}
	if err := l.Start(lab.Process{Name: "guest-handler", Argv: []string{path[handler.Name], "--account", control.Kubeconfig(l, "virt-handler"),
		"--kubelet", l.Kubeconfig(), "--node", data.NodeName, "--dir", l.Path("guests")}}); err != nil {
		return err
	}
	return l.Until(ctx, "the node's handler is there", time.Minute, func(ctx context.Context) error {
		n, err := core.CoreV1().Nodes().Get(ctx, data.NodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if at, err := time.Parse(time.RFC3339, n.Annotations["kubevirt.io/heartbeat"]); err != nil || time.Since(at) > 2*time.Minute {
			return fmt.Errorf("it was heard of last at %q; see logs guest-handler", n.Annotations["kubevirt.io/heartbeat"])
		}
		return nil
	})
}
