package data

import (
	"context"

	"k8s.io/client-go/rest"

	"landfall/testdata/cluster/control"
	"landfall/testdata/cluster/data/volume"
	"landfall/testdata/cluster/lab"
)

// The storage classes. None has a provisioner in Kubernetes' sense: volumes are made as those of an administrator are.
const (
	Immediate = "lab"         // bound at once; the default
	Waiting   = "lab-waiting" // bound when a pod wants it
	Barren    = "lab-barren"  // has no volumes and never will
)

// startVolumes makes the storage classes and starts the maker of volumes.
func startVolumes(ctx context.Context, l *lab.Lab) error {
	for name, mode := range map[string]string{Immediate: "Immediate", Waiting: "WaitForFirstConsumer", Barren: "Immediate"} {
		if err := control.Apply(ctx, l, control.Object(`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: %s, annotations: {storageclass.kubernetes.io/is-default-class: "%t"}},
provisioner: kubernetes.io/no-provisioner, volumeBindingMode: %s, reclaimPolicy: Delete}`, name, name == Immediate, mode)); err != nil {
			return err
		}
	}
	self, err := l.Self()
	if err != nil {
		return err
	}
	return l.Start(lab.Process{Name: "volumes", Argv: []string{self, "daemon", "volumes", Volumes(l), l.Path("volume-files")}, Env: []string{"KUBECONFIG=" + l.Kubeconfig()}})
}

// ServeVolumes is the process that makes volumes.
func ServeVolumes(ctx context.Context, c *rest.Config, mounts, files string) error {
	m := volume.Maker{Mounts: mounts, Files: files, Node: NodeName, Classes: map[string]bool{Immediate: true, Waiting: false}}
	return m.Serve(ctx, c)
}
