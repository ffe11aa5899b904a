// Pause is the process that holds a pod's namespaces: it waits to be ended, and reaps what is left to it meanwhile.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range c {
		if s != syscall.SIGCHLD {
			return
		}
		for pid, err := 1, error(nil); pid > 0 && err == nil; {
			pid, err = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		}
	}
}
