// Launcher is what runs in the pod of an instance, under every name that virt-controller calls it by: it does nothing, for the
// node's handler runs the guest, and ends when it is asked to. Called as a shell, which is how virt-controller has a volume
// bound that waits for a consumer, it ends at once.
package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	if filepath.Base(os.Args[0]) == "bash" {
		return
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
}
