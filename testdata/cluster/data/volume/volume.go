// Package volume makes PersistentVolumes for the claims that wait for one, and takes them away when they are released, as a
// provisioner of local volumes would. Each is a file system of its own, ext4 in a sparse file, mounted on this machine. It must
// not know what is put into a volume.
package volume

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// forClaim is the label of a volume that was made here; it names the uid of the claim that it was made for.
const forClaim = "landfall.dev/made-for"

// Maker makes volumes.
type Maker struct {
	Mounts, Files string          // folders of this machine: a mount for each volume, and what is mounted there
	Node          string          // that the volumes are on
	Classes       map[string]bool // storage classes that are served; true for those that are bound at once

	core kubernetes.Interface
}

// Serve makes and takes away volumes until the context ends.
func (m *Maker) Serve(ctx context.Context, c *rest.Config) (err error) {
	if m.core, err = kubernetes.NewForConfig(c); err != nil {
		return err
	}
	for {
		if err := m.turn(ctx); err != nil {
			log.Print(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// turn does what is to be done now.
func (m *Maker) turn(ctx context.Context) error {
	claims, err := m.core.CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	volumes, err := m.core.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{LabelSelector: forClaim})
	if err != nil {
		return err
	}
	waiting, free := map[string]*corev1.PersistentVolumeClaim{}, map[string]int{}
	for _, c := range claims.Items {
		if class := c.Spec.StorageClassName; class != nil && c.Status.Phase == corev1.ClaimPending && c.Spec.VolumeName == "" && c.DeletionTimestamp == nil {
			if _, served := m.Classes[*class]; served && (c.Spec.VolumeMode == nil || *c.Spec.VolumeMode == corev1.PersistentVolumeFilesystem) {
				waiting[string(c.UID)] = &c
			}
		}
	}
	for _, v := range volumes.Items {
		uid := v.Labels[forClaim]
		if v.DeletionTimestamp != nil {
			continue
		}
		switch v.Status.Phase {
		case corev1.VolumeReleased, corev1.VolumeFailed:
			err = m.remove(ctx, &v)
		case corev1.VolumeBound:
			if v.Spec.ClaimRef != nil {
				free[string(v.Spec.ClaimRef.UID)]++ // the claim learns of it next
			}
		default:
			if waiting[uid] == nil && v.CreationTimestamp.Add(30*time.Second).Before(time.Now()) {
				err = m.remove(ctx, &v) // the claim was deleted, or took another's
			} else {
				free[uid]++
			}
		}
		if err != nil {
			return err
		}
	}
	for uid, c := range waiting {
		if free[uid] == 0 {
			if err := m.make(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// make makes a volume for a claim. Where the class waits for a consumer the volume is free to whoever comes, so a claim may
// find its own taken and need another.
func (m *Maker) make(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	size := c.Spec.Resources.Requests[corev1.ResourceStorage]
	name := fmt.Sprintf("lab-%s", c.UID)
	for n := 2; ; n++ {
		_, err := m.core.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			break
		}
		if err != nil {
			return err
		}
		name = fmt.Sprintf("lab-%s-%d", c.UID, n)
	}
	if err := m.mount(name, size.Value()); err != nil {
		return fmt.Errorf("make a volume for %s/%s: %w", c.Namespace, c.Name, err)
	}
	mode := corev1.PersistentVolumeFilesystem
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{forClaim: string(c.UID)}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: size}, AccessModes: c.Spec.AccessModes, VolumeMode: &mode,
			StorageClassName: *c.Spec.StorageClassName, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: m.path(name)}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{m.Node}}},
			}}}},
		},
	}
	if m.Classes[*c.Spec.StorageClassName] {
		v.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID}
	}
	if _, err := m.core.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make a volume for %s/%s: %w", c.Namespace, c.Name, err)
	}
	log.Printf("made %s (%s) for %s/%s", name, size.String(), c.Namespace, c.Name)
	return nil
}

// remove takes a volume away, first from the cluster, then from this machine.
func (m *Maker) remove(ctx context.Context, v *corev1.PersistentVolume) error {
	if err := m.core.CoreV1().PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove %s: %w", v.Name, err)
	}
	if err := m.unmount(v.Name); err != nil {
		return fmt.Errorf("remove %s: %w", v.Name, err)
	}
	log.Printf("removed %s", v.Name)
	return os.RemoveAll(m.file(v.Name))
}
