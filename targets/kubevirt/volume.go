package kubevirt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cdi "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"landfall/targets"
)

// Volume looks at one volume. What CDI itself says of it decides; events only lend their words to why it waits.
func (t *Target) Volume(ctx context.Context, o targets.Owner, v targets.Volume) (targets.VolumeState, error) {
	dv, err := t.cdi.DataVolumes(o.Namespace).Get(ctx, v.Name, metav1.GetOptions{})
	if absent(err) {
		return t.claimAlone(ctx, o, v)
	}
	if err != nil {
		return targets.VolumeState{}, classify("look at "+object("datavolume", o.Namespace, v.Name), err)
	}
	s := volumeState(dv, o, v)
	if w := t.scratchWaiting(ctx, dv); w != "" {
		s.Waiting = strings.TrimPrefix(s.Waiting+"; "+w, "; ")
	}
	if s.Waiting != "" && dv.Status.Phase != cdi.ImportInProgress {
		if w := t.warning(ctx, dv); w != "" {
			s.Waiting += "; " + w
		}
	}
	return s, nil
}

// volumeState is what a DataVolume tells: pure, so that recorded lives can be played through it.
func volumeState(dv *cdi.DataVolume, o targets.Owner, v targets.Volume) targets.VolumeState {
	phase := dv.Status.Phase
	s := targets.VolumeState{
		Exists: true, Ours: ours(dv, o), Digest: dv.Annotations[annDigest],
		Phase: string(phase), Restarts: dv.Status.RestartCount, Progress: string(dv.Status.Progress),
		Done: phase == cdi.Succeeded, Failed: phase == cdi.Failed, Deleting: dv.DeletionTimestamp != nil,
	}
	s.Ready = phase == cdi.UploadReady && !s.Deleting
	s.Diff = volumeDiff(dv, v)
	s.Matches = len(s.Diff) == 0
	if !s.Done && !s.Ready {
		s.Waiting = waiting(dv)
		s.TooSmall = tooSmall(dv)
	}
	return s
}

// tooSmall recognises the one sentence that CDI has for all that does not fit; it restarts the importer for ever after it.
func tooSmall(dv *cdi.DataVolume) bool {
	running := condition(dv, cdi.DataVolumeRunning)
	return running != nil && running.Status != corev1.ConditionTrue && running.Message == "DataVolume too small to contain image"
}

// scratchWaiting names the scratch claim that does not bind. The DataVolume itself does not tell: CDI reports its own claim as
// bound again while the pod still waits for the other.
func (t *Target) scratchWaiting(ctx context.Context, dv *cdi.DataVolume) string {
	if dv.Status.Phase != cdi.UploadScheduled && dv.Status.Phase != cdi.ImportScheduled {
		return ""
	}
	if r := condition(dv, cdi.DataVolumeRunning); r != nil && (r.Status == corev1.ConditionTrue || r.Reason == "Completed") {
		return ""
	}
	claim, err := t.core.PersistentVolumeClaims(dv.Namespace).Get(ctx, dv.Name+"-scratch", metav1.GetOptions{})
	if err != nil || claim.Status.Phase != corev1.ClaimPending {
		return ""
	}
	w := fmt.Sprintf("its scratch claim %s of storage class %s is Pending", bounded(claim.Name, 253), orNone(deref(claim.Spec.StorageClassName)))
	if e := t.warning(ctx, claim); e != "" {
		w += ": " + e
	}
	return w
}

// waiting gives the cluster's words for why the volume does not go on, or "" where it does.
func waiting(dv *cdi.DataVolume) string {
	if dv.DeletionTimestamp != nil {
		return "it is being deleted"
	}
	bound, running := condition(dv, cdi.DataVolumeBound), condition(dv, cdi.DataVolumeRunning)
	switch dv.Status.Phase {
	case cdi.WaitForFirstConsumer, cdi.PendingPopulation:
		return words(string(dv.Status.Phase)+": the storage class waits for a first consumer", bound)
	case cdi.Paused:
		return words("Paused", running)
	case cdi.ImportInProgress, cdi.UploadScheduled, cdi.ImportScheduled, cdi.Pending, cdi.PhaseUnset, cdi.Failed, cdi.Unknown:
	default:
		if running != nil && running.Status == corev1.ConditionTrue {
			return ""
		}
	}
	if bound != nil && bound.Status != corev1.ConditionTrue && (bound.Reason != "" || bound.Message != "") {
		return words("", bound)
	}
	if running != nil && running.Status != corev1.ConditionTrue && running.Reason != "Completed" && (running.Reason != "" || running.Message != "") {
		return words("", running)
	}
	if dv.Status.Phase == cdi.Unknown || dv.Status.Phase == cdi.Failed {
		return string(dv.Status.Phase) + ": CDI gives no reason"
	}
	return ""
}

func words(lead string, c *cdi.DataVolumeCondition) string {
	parts := []string{lead}
	if c != nil && c.Status != corev1.ConditionTrue {
		parts = append(parts, c.Reason, c.Message)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return bounded(strings.Join(slices.Compact(parts), ": "), 1024)
}

func condition(dv *cdi.DataVolume, kind cdi.DataVolumeConditionType) *cdi.DataVolumeCondition {
	for i, c := range dv.Status.Conditions {
		if c.Type == kind {
			return &dv.Status.Conditions[i]
		}
	}
	return nil
}

func volumeDiff(dv *cdi.DataVolume, v targets.Volume) []string {
	var diff []string
	differ := func(what, is, want string) {
		if is != want {
			diff = append(diff, fmt.Sprintf("%s: is %s, planned %s", what, orNone(is), orNone(want)))
		}
	}
	var claim corev1.PersistentVolumeClaimSpec
	switch {
	case dv.Spec.PVC != nil:
		claim = *dv.Spec.PVC
	case dv.Spec.Storage != nil:
		s := dv.Spec.Storage
		claim = corev1.PersistentVolumeClaimSpec{AccessModes: s.AccessModes, Resources: s.Resources, StorageClassName: s.StorageClassName, VolumeMode: s.VolumeMode}
	}
	if size := claim.Resources.Requests[corev1.ResourceStorage]; size.Value() != v.Size {
		differ("size", size.String(), quantity(v.Size).String())
	}
	differ("storage class", deref(claim.StorageClassName), v.StorageClass)
	if v.VolumeMode != "" {
		differ("volume mode", string(deref(claim.VolumeMode)), v.VolumeMode)
	}
	if len(v.AccessModes) > 0 {
		var modes []string
		for _, m := range claim.AccessModes {
			modes = append(modes, string(m))
		}
		slices.Sort(modes)
		differ("access modes", strings.Join(modes, ","), strings.Join(slices.Sorted(slices.Values(v.AccessModes)), ","))
	}
	if d := dv.Annotations[annDigest]; d != "" && v.Digest != "" {
		differ("digest", d, v.Digest)
	}
	return diff
}

// claimAlone looks at a claim whose DataVolume is gone, as CDI of some releases leaves it after a finished import.
func (t *Target) claimAlone(ctx context.Context, o targets.Owner, v targets.Volume) (targets.VolumeState, error) {
	claim, err := t.core.PersistentVolumeClaims(o.Namespace).Get(ctx, v.Name, metav1.GetOptions{})
	if absent(err) {
		return targets.VolumeState{}, nil
	}
	if err != nil {
		return targets.VolumeState{}, classify("look at "+object("persistentvolumeclaim", o.Namespace, v.Name), err)
	}
	s := targets.VolumeState{Exists: true, Ours: ours(claim, o), Digest: claim.Annotations[annDigest], Phase: "claim " + string(claim.Status.Phase), Deleting: claim.DeletionTimestamp != nil}
	s.Done = claim.Annotations["cdi.kubevirt.io/storage.pod.phase"] == string(corev1.PodSucceeded) && !s.Deleting
	s.Diff = volumeDiff(&cdi.DataVolume{ObjectMeta: claim.ObjectMeta, Spec: cdi.DataVolumeSpec{PVC: &claim.Spec}}, v)
	s.Matches = len(s.Diff) == 0
	if !s.Done {
		s.Waiting = "its claim is there without a DataVolume"
		if s.Deleting {
			s.Waiting = "its claim is being deleted"
		}
	}
	return s, nil
}

// warning gives the newest warning about what has that name, a volume and its claim, where events may be read.
func (t *Target) warning(ctx context.Context, of metav1.Object) string {
	list, err := t.core.Events(of.GetNamespace()).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + of.GetName(), Limit: 100})
	if err != nil {
		return ""
	}
	var newest *corev1.Event
	for i, e := range list.Items {
		// "Upload Complete" is a warning by type only; and an event of a deleted namesake tells of another life.
		if e.Type != corev1.EventTypeWarning || e.LastTimestamp.Time.Before(of.GetCreationTimestamp().Time) || strings.HasPrefix(e.Reason, "Upload") {
			continue
		}
		if newest == nil || newest.LastTimestamp.Before(&e.LastTimestamp) {
			newest = &list.Items[i]
		}
	}
	if newest == nil {
		return ""
	}
	return bounded(newest.Reason+": "+newest.Message, 512)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return bounded(s, 128)
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
