// Command cluster runs a real Kubernetes with the real KubeVirt and CDI on this machine, in a network of its own, for tests.
//
//	go run . up [layer]     api, vm, data or boot, with those before it; all without an argument
//	go run . exec -- CMD    run a command in the lab's network, as its administrator
//	go run . status         what runs
//	go run . logs NAME      what a process wrote
//	go run . down           end it, and put back what it touched
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := commands().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}
