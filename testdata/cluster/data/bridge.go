package data

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"

	"landfall/testdata/cluster/control"
	"landfall/testdata/cluster/lab"
)

const (
	// Address is the node's: on the bridge that pods hang on, and reached by them.
	Address = "10.244.0.1"
	// Pods is the range that pods get their addresses from.
	Pods = "10.244.0.0/16"

	bridge  = "cni0"
	plugins = "/usr/lib/cni"
)

// makeBridge makes the bridge before the first pod would, for its address is the node's own. It goes with the namespace.
func makeBridge(l *lab.Lab) error {
	if _, err := net.InterfaceByName(bridge); err != nil {
		if err := run("ip", "link", "add", bridge, "type", "bridge"); err != nil {
			return err
		}
	}
	if err := errors.Join(
		run("ip", "addr", "replace", Address+"/16", "dev", bridge),
		run("ip", "link", "set", bridge, "up"),
		// Nothing leads out of the namespace, and services need a way for their packets to be turned on.
		run("ip", "route", "replace", control.Services, "dev", bridge),
	); err != nil {
		return fmt.Errorf("make the bridge: %w", err)
	}
	if err := os.MkdirAll(l.Path("cni"), 0o700); err != nil {
		return err
	}
	_, err := write(l, "cni/10-bridge.conflist", fmt.Sprintf(`{"cniVersion": "0.4.0", "name": "landfall-lab", "plugins": [
  {"type": "bridge", "bridge": %q, "isGateway": true, "hairpinMode": true, "promiscMode": false, "ipam": {"type": "host-local",
   "ranges": [[{"subnet": %q, "rangeStart": "10.244.1.1", "gateway": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}`, bridge, Pods, Address))
	return err
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
