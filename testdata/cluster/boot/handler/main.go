// Handler stands in for KubeVirt's virt-handler on one node of the lab: it boots what the API server says runs there, from the
// files that the claims' volumes are, and says on the instance how the guest does, as the service account of virt-handler.
//
// qemu always emulates. It lives in the network of the instance's launcher pod, so that services and their endpoints are
// Kubernetes' own. It knows the API alone: nothing of the lab's layers, or of who made the machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var h handler
	account := flag.String("account", "", "kubeconfig of the service account kubevirt-handler")
	kubelet := flag.String("kubelet", "", "kubeconfig of one who may see the node's pods and volumes")
	flag.StringVar(&h.node, "node", "", "the node's name")
	flag.StringVar(&h.dir, "dir", "", "folder for sockets, consoles and firmware variables")
	flag.Parse()
	// The account may list, watch and update instances and no more, as virt-handler.
	c, err := clientcmd.BuildConfigFromFlags("", *account)
	if err != nil {
		return fmt.Errorf("read the account's kubeconfig: %w", err)
	}
	virt, err := dynamic.NewForConfig(c)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	if h.nodes, err = kubernetes.NewForConfig(c); err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	if c, err = clientcmd.BuildConfigFromFlags("", *kubelet); err != nil {
		return fmt.Errorf("read the kubelet's kubeconfig: %w", err)
	}
	if h.core, err = kubernetes.NewForConfig(c); err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	h.instances, h.guests = virt.Resource(instances), map[string]*guest{}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return h.serve(ctx)
}
