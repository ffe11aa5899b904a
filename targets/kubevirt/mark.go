package kubevirt

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"landfall/engine/fault"
	"landfall/targets"
)

// MarkVolume writes the digest on the volume, and on its claim, to which CDI passes on only what the volume was made with.
func (t *Target) MarkVolume(ctx context.Context, o targets.Owner, v targets.Volume) error {
	what := object("datavolume", o.Namespace, v.Name)
	dv, err := t.cdi.DataVolumes(o.Namespace).Get(ctx, v.Name, metav1.GetOptions{})
	switch {
	case absent(err):
		return fault.Newf(fault.Transient, fault.NotFound, "mark %s: it is not there", what)
	case err != nil:
		return classify("look at "+what, err)
	case !ours(dv, o):
		return notOurs("datavolume", dv, o)
	}
	claim, err := t.core.PersistentVolumeClaims(o.Namespace).Get(ctx, v.Name, metav1.GetOptions{})
	if err != nil && !absent(err) {
		return classify("look at "+object("persistentvolumeclaim", o.Namespace, v.Name), err)
	}
	if err == nil && ours(claim, o) { // the volume last: it is by the volume that the mark is missed
		if err := markDigest(claim, v, "persistentvolumeclaim", func(patch []byte) error {
			_, err := t.core.PersistentVolumeClaims(o.Namespace).Patch(ctx, v.Name, types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		}); err != nil {
			return err
		}
	}
	return markDigest(dv, v, "datavolume", func(patch []byte) error {
		_, err := t.cdi.DataVolumes(o.Namespace).Patch(ctx, v.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

// markDigest patches what of the digest's labels is missing on exactly this object.
func markDigest(m metav1.Object, v targets.Volume, kind string, patch func([]byte) error) error {
	l, ann := map[string]string{}, map[string]string{}
	digestLabels(v.Digest, l, ann)
	if len(ann) == 0 || m.GetAnnotations()[annDigest] == v.Digest {
		return nil
	}
	b, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": m.GetUID(), "labels": l, "annotations": ann}})
	if err != nil {
		return err
	}
	doing := "mark " + object(kind, m.GetNamespace(), m.GetName())
	return classify(doing, write(doing, func() error { return patch(b) }))
}
