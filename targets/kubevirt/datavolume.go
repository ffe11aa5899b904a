package kubevirt

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cdi "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"landfall/targets"
)

const (
	annBindNow   = "cdi.kubevirt.io/storage.bind.immediate.requested"
	annKeepAfter = "cdi.kubevirt.io/storage.deleteAfterCompletion"
)

// CreateVolume makes the volume, standalone, so that deleting the VM keeps the disk. A claim of the same name that is
// another's is in the way too: CDI would wait for it for ever.
func (t *Target) CreateVolume(ctx context.Context, o targets.Owner, v targets.Volume) error {
	if err := checkOwner(o); err != nil {
		return err
	}
	what := object("datavolume", o.Namespace, v.Name)
	there, err := t.cdi.DataVolumes(o.Namespace).Get(ctx, v.Name, metav1.GetOptions{})
	switch {
	case err == nil && ours(there, o):
		return t.pullObjects(ctx, o, v)
	case err == nil:
		return notOurs("datavolume", there, o)
	case !absent(err):
		return classify("look for "+what, err)
	}
	claim, err := t.core.PersistentVolumeClaims(o.Namespace).Get(ctx, v.Name, metav1.GetOptions{})
	switch {
	case err == nil && !ours(claim, o):
		return notOurs("persistentvolumeclaim", claim, o)
	case err != nil && !absent(err):
		return classify("look for "+object("persistentvolumeclaim", o.Namespace, v.Name), err)
	}
	if err := t.pullObjects(ctx, o, v); err != nil {
		return err
	}
	err = write("create "+what, func() error {
		_, err := t.cdi.DataVolumes(o.Namespace).Create(ctx, dataVolume(o, v), metav1.CreateOptions{})
		return err
	})
	if apierrors.IsAlreadyExists(err) {
		there, look := t.cdi.DataVolumes(o.Namespace).Get(ctx, v.Name, metav1.GetOptions{})
		if look == nil && ours(there, o) {
			return nil
		}
		if look == nil {
			return notOurs("datavolume", there, o)
		}
	}
	return classify("create "+what, err)
}

func dataVolume(o targets.Owner, v targets.Volume) *cdi.DataVolume {
	l, ann := labels(o), map[string]string{
		// CDI of some releases deletes a finished DataVolume, which would look like a lost one.
		annKeepAfter: "false",
	}
	if o.Name != "" {
		ann[annMigration] = escaped(o.Name)
	}
	if v.BindNow {
		ann[annBindNow] = "true"
	}
	digestLabels(v.Digest, l, ann)
	class, mode := v.StorageClass, corev1.PersistentVolumeMode(v.VolumeMode)
	claim := &corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class,
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: *quantity(v.Size)}},
	}
	if v.VolumeMode != "" {
		claim.VolumeMode = &mode
	}
	for _, m := range v.AccessModes {
		claim.AccessModes = append(claim.AccessModes, corev1.PersistentVolumeAccessMode(m))
	}
	source := &cdi.DataVolumeSource{Upload: &cdi.DataVolumeSourceUpload{}}
	if v.Pull != nil {
		source = pullSource(v)
	}
	return &cdi.DataVolume{
		ObjectMeta: metav1.ObjectMeta{Name: v.Name, Namespace: o.Namespace, Labels: l, Annotations: maps.Clone(ann)},
		Spec:       cdi.DataVolumeSpec{Source: source, PVC: claim, ContentType: cdi.DataVolumeKubeVirt},
	}
}

func quantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.BinarySI) }
