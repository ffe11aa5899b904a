package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	virt "kubevirt.io/api/core/v1"
)

// files finds the file that each volume of the instance is on this node.
func (h *handler) files(ctx context.Context, vmi *virt.VirtualMachineInstance) (map[string]string, error) {
	found := map[string]string{}
	for _, v := range vmi.Spec.Volumes {
		claim := ""
		switch {
		case v.DataVolume != nil:
			claim = v.DataVolume.Name
		case v.PersistentVolumeClaim != nil:
			claim = v.PersistentVolumeClaim.ClaimName
		default:
			return nil, fmt.Errorf("volume %s is not on a claim: this node boots from claims alone", v.Name)
		}
		file, err := h.file(ctx, vmi.Namespace, claim)
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", v.Name, err)
		}
		found[v.Name] = file
	}
	return found, nil
}

func (h *handler) file(ctx context.Context, namespace, claim string) (string, error) {
	c, err := h.core.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, claim, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("look at claim %s: %w", claim, err)
	}
	if c.Status.Phase != corev1.ClaimBound {
		return "", fmt.Errorf("claim %s is not bound", claim)
	}
	pv, err := h.core.CoreV1().PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("look at volume %s: %w", c.Spec.VolumeName, err)
	}
	path, err := place(pv)
	if err != nil {
		return "", err
	}
	if c.Spec.VolumeMode == nil || *c.Spec.VolumeMode == corev1.PersistentVolumeFilesystem {
		path = filepath.Join(path, "disk.img") // where CDI and KubeVirt keep a disk on a file system
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("claim %s: %w", claim, err)
	}
	return path, nil
}

func place(pv *corev1.PersistentVolume) (string, error) {
	switch {
	case pv.Spec.HostPath != nil:
		return pv.Spec.HostPath.Path, nil
	case pv.Spec.Local != nil:
		return pv.Spec.Local.Path, nil
	}
	return "", errors.New("volume " + pv.Name + " is not a place on this node")
}
