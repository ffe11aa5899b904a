package vm

import (
	"context"
	_ "embed"
	"os"

	"landfall/testdata/cluster/control"
	"landfall/testdata/cluster/lab"
)

// Node is the node that kwok plays.
const Node = "played"

//go:embed stages.yaml
var stages []byte

// startHandler makes the played node and starts who plays it.
func startHandler(l *lab.Lab, program string) error {
	config := l.Path("stages.yaml")
	if err := os.WriteFile(config, stages, 0o600); err != nil {
		return err
	}
	if err := control.Apply(context.Background(), l, control.Object(`{apiVersion: v1, kind: Node, metadata: {name: %s,
annotations: {kwok.x-k8s.io/node: fake}, labels: {kubernetes.io/hostname: %s, kubernetes.io/os: linux, kubernetes.io/arch: amd64, type: kwok,
  kubevirt.io/schedulable: "true", machine-type.node.kubevirt.io/q35: "true", cpu-model.node.kubevirt.io/host-model: "true"}},
spec: {taints: []}}`, Node, Node)); err != nil {
		return err
	}
	return l.Start(lab.Process{Name: "kwok", Argv: []string{program, "--kubeconfig", control.Kubeconfig(l, "kwok"), "--config", config,
		"--manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds", "40", "--cidr", "10.251.0.0/16", "--node-ip", address,
		"--server-address", "127.0.0.1:10247"}})
}
