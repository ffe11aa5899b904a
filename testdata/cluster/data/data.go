// Package data is the lab's layer data: a real node, on which pods run and volumes are filled. It is a kubelet over
// containerd and runc, kube-proxy, a bridge that pods hang on, and CDI as its own operator installs it: controller, API
// server with upload tokens, upload proxy, and the importer and upload server in the pods that they start.
//
// Every volume is a file system of its own of the size that was asked for, so that a full one is full. Its files lie on this
// machine in volumes/<name of the PersistentVolume>/ in the folder of the lab's run (Volumes); a disk that CDI filled is
// disk.img in it. Classes: Immediate (the default), Waiting (bound when a pod wants it) and Barren (never bound).
//
// Three parts stand in for what a cluster has of others: the names of services are answered by a server of the lab's own
// (package dns), volumes are made by a loop of the lab's own (package volume), and the images are made here from what was
// built and from programs of this machine (qemu-img).
//
// It needs of Debian: containerd, runc, containernetworking-plugins, iptables, iproute2, util-linux, e2fsprogs, qemu-utils,
// busybox. It must not know the layers above, nor what is put into a volume.
package data

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"landfall/testdata/cluster/build"
	"landfall/testdata/cluster/lab"
)

const (
	cdiVersion  = "v1.61.1"
	kubeVersion = "v1.34.4"
	cdiCmd      = "kubevirt.io/containerized-data-importer/cmd/"
	kubeFlags   = "-X k8s.io/component-base/version.gitVersion=" + kubeVersion + " -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=34"
)

var (
	kubelet = build.Program{Name: "kubelet", Pins: "kubernetes", Package: "k8s.io/kubernetes/cmd/kubelet", Flags: kubeFlags, Cost: 49}
	proxy   = build.Program{Name: "kube-proxy", Pins: "kube-proxy", Package: "k8s.io/kubernetes/cmd/kube-proxy", Flags: kubeFlags, Cost: 25}
	pause   = build.Program{Name: "pause", Pins: "cdi", Package: "./pause", Cost: 1}

	operator     = build.Program{Name: "cdi-operator", Pins: "cdi", Package: cdiCmd + "cdi-operator", Cost: 60}
	controller   = build.Program{Name: "cdi-controller", Pins: "cdi", Package: cdiCmd + "cdi-controller", Cost: 126}
	apiserver    = build.Program{Name: "cdi-apiserver", Pins: "cdi", Package: cdiCmd + "cdi-apiserver", Cost: 15}
	uploadproxy  = build.Program{Name: "cdi-uploadproxy", Pins: "cdi", Package: cdiCmd + "cdi-uploadproxy", Cost: 15}
	importer     = build.Program{Name: "cdi-importer", Pins: "cdi", Package: cdiCmd + "cdi-importer", Cost: 120}
	uploadserver = build.Program{Name: "cdi-uploadserver", Pins: "cdi", Package: cdiCmd + "cdi-uploadserver", Cost: 40}
)

// Programs are what the layer is made of.
var Programs = []build.Program{kubelet, proxy, pause, operator, controller, apiserver, uploadproxy, importer, uploadserver}

// Volumes is the folder that has a folder for each PersistentVolume.
func Volumes(l *lab.Lab) string { return l.Path("volumes") }

// Up starts the layer.
func Up(ctx context.Context, l *lab.Lab, b build.Builder) error {
	if err := tools(); err != nil {
		return err
	}
	path := map[string]string{}
	for _, p := range Programs {
		var err error
		if path[p.Name], err = b.Path(p); err != nil {
			return err
		}
	}
	for _, step := range []func() error{
		func() error { return makeBridge(l) },
		func() error { return makeNode(l) },
		func() error { return startRuntime(ctx, l) },
		func() error { return makeImages(ctx, l, path) },
		func() error { return startKubelet(ctx, l, path["kubelet"]) },
		func() error { return startServices(ctx, l, path["kube-proxy"]) },
		func() error { return startVolumes(ctx, l) },
		func() error { return installCDI(ctx, l) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// tools tells what is missing of the machine, all at once.
func tools() error {
	var missing []error
	for tool, pkg := range map[string]string{
		"containerd": "containerd", "ctr": "containerd", "runc": "runc", "iptables": "iptables", "ip": "iproute2", "nsenter": "util-linux",
		"mkfs.ext4": "e2fsprogs", "qemu-img": "qemu-utils", "busybox": "busybox", plugins + "/bridge": "containernetworking-plugins",
	} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, fmt.Errorf("%s is missing: apt-get install %s", tool, pkg))
		}
	}
	return errors.Join(missing...)
}

// write writes a file of the run, and its folder.
func write(l *lab.Lab, name, content string) (string, error) {
	path := l.Path(name)
	if err := os.MkdirAll(l.Path(), 0o700); err != nil {
		return "", err
	}
	if b, err := os.ReadFile(path); err == nil && string(b) == content {
		return path, nil // kube-proxy ends itself when its file is written
	}
	return path, os.WriteFile(path, []byte(content), 0o600)
}
