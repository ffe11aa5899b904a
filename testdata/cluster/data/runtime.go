package data

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"landfall/testdata/cluster/lab"
)

func socket(l *lab.Lab) string { return l.Path("containerd", "containerd.sock") }

// startRuntime starts containerd, all of whose folders are the lab's.
func startRuntime(ctx context.Context, l *lab.Lab) error {
	if err := os.MkdirAll(l.Path("containerd"), 0o711); err != nil {
		return err
	}
	config, err := write(l, "containerd/config.toml", fmt.Sprintf(`version = 2
root = %q
state = %q
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`, l.Path("containerd", "root"), l.Path("containerd", "state"), socket(l), pauseImage, plugins, l.Path("cni")))
	if err != nil {
		return err
	}
	if err := l.Until(ctx, "the node's mounts are there", 30*time.Second, func(context.Context) error {
		if p, err := l.Process(nodeProcess); err == nil && !p.Running() {
			return fmt.Errorf("it has ended; see %s", l.Log(nodeProcess))
		}
		_, err := os.Stat(l.Path("node", "ready"))
		return err
	}); err != nil {
		return err
	}
	argv, err := onNode(l, "/usr/bin/containerd", "--config", config)
	if err != nil {
		return err
	}
	if err := l.Start(lab.Process{Name: "containerd", Argv: argv}); err != nil {
		return err
	}
	return l.Until(ctx, "containerd answers", time.Minute, func(ctx context.Context) error {
		_, err := ctr(ctx, l, "version")
		return err
	})
}

// ctr is containerd's own client.
func ctr(ctx context.Context, l *lab.Lab, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "ctr", append([]string{"--address", socket(l), "--namespace", "k8s.io"}, args...)...)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w", strings.Join(args, " "), errors.Join(err, errors.New(strings.TrimSpace(said.String()))))
	}
	return string(out), nil
}
