package kubevirt

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cdi "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"landfall/targets"
)

// The lives of DataVolumes as a real CDI went through them.
func TestVolumeState(t *testing.T) {
	type conditions = []cdi.DataVolumeCondition
	cond := func(kind cdi.DataVolumeConditionType, status corev1.ConditionStatus, reason, message string) cdi.DataVolumeCondition {
		return cdi.DataVolumeCondition{Type: kind, Status: status, Reason: reason, Message: message}
	}
	yes, no := corev1.ConditionTrue, corev1.ConditionFalse
	bound := cond(cdi.DataVolumeBound, yes, "Bound", "PVC d Bound")
	const quota = `persistentvolumeclaims "disk" is forbidden: exceeded quota: small, requested: requests.storage=64Mi, used: requests.storage=0, limited: requests.storage=1Mi`
	for _, c := range []struct {
		what     string
		phase    cdi.DataVolumePhase
		restarts int32
		cond     conditions
		state    string // ready, done, failed, too small, waiting, going
		words    string
	}{
		{"new", "", 0, nil, "going", ""},
		{"claim pending", cdi.Pending, 0, conditions{cond(cdi.DataVolumeBound, no, "Pending", "PVC d Pending"), cond(cdi.DataVolumeRunning, no, "", "")}, "waiting", "PVC d Pending"},
		{"quota", cdi.Pending, 0, conditions{cond(cdi.DataVolumeBound, no, "ErrExceededQuota", "exceeded quota: limit")}, "waiting", "exceeded quota"},
		{"quota of the namespace", cdi.Pending, 0, conditions{cond(cdi.DataVolumeBound, corev1.ConditionUnknown, "ErrExceededQuota", quota), cond(cdi.DataVolumeReady, no, "ErrExceededQuota", quota), cond(cdi.DataVolumeRunning, no, "", "")}, "waiting", quota},
		{"secret is not there", cdi.ImportScheduled, 0, conditions{bound, cond(cdi.DataVolumeRunning, no, "CreateContainerConfigError", `secret "nobody" not found`)}, "waiting", `CreateContainerConfigError: secret "nobody" not found`},
		{"image is too large", cdi.ImportInProgress, 2, conditions{bound, cond(cdi.DataVolumeRunning, no, "Error", "DataVolume too small to contain image")}, "too small", "DataVolume too small to contain image"},
		{"image is too large, tried again", cdi.ImportInProgress, 2, conditions{bound, cond(cdi.DataVolumeRunning, yes, "Pod is running", "")}, "going", ""},
		{"scratch claim is made", cdi.UploadScheduled, 0, conditions{cond(cdi.DataVolumeBound, no, "CreatingScratchSpace", "Creating scratch space"), cond(cdi.DataVolumeRunning, no, "", "")}, "waiting", "Creating scratch space"},
		{"claim of another volume", cdi.Pending, 0, conditions{cond(cdi.DataVolumeBound, no, "ClaimMisbound", "bound to another")}, "waiting", "ClaimMisbound"},
		{"waits for a consumer", cdi.WaitForFirstConsumer, 0, conditions{cond(cdi.DataVolumeBound, no, "Pending", "PVC d Pending")}, "waiting", "first consumer"},
		{"waits for a consumer, populated", cdi.PendingPopulation, 0, nil, "waiting", "PendingPopulation"},
		{"unschedulable", cdi.ImportScheduled, 0, conditions{bound, cond(cdi.DataVolumeRunning, no, "Unschedulable", "0/3 nodes are available")}, "waiting", "0/3 nodes"},
		{"container starts", cdi.UploadScheduled, 0, conditions{bound, cond(cdi.DataVolumeRunning, no, "ContainerCreating", "")}, "waiting", "ContainerCreating"},
		{"upload takes data", cdi.UploadReady, 0, conditions{bound, cond(cdi.DataVolumeRunning, yes, "Pod is running", "")}, "ready", ""},
		{"upload has it all", cdi.UploadScheduled, 0, conditions{bound, cond(cdi.DataVolumeRunning, no, "Completed", "Upload Complete")}, "going", ""},
		{"import runs", cdi.ImportInProgress, 0, conditions{bound, cond(cdi.DataVolumeRunning, yes, "Pod is running", "")}, "going", ""},
		{"import wants scratch", cdi.ImportInProgress, 0, conditions{bound, cond(cdi.DataVolumeRunning, no, "Scratch space required and none found", "")}, "waiting", "Scratch space"},
		{"source is gone", cdi.ImportInProgress, 3, conditions{bound, cond(cdi.DataVolumeRunning, no, "Error", "expected status code 200, got 404")}, "waiting", "404"},
		{"paused", cdi.Paused, 0, conditions{bound}, "waiting", "Paused"},
		{"failed", cdi.Failed, 1, conditions{bound, cond(cdi.DataVolumeRunning, no, "Error", "disk full")}, "failed", "disk full"},
		{"succeeded", cdi.Succeeded, 0, conditions{bound, cond(cdi.DataVolumeRunning, no, "Completed", "Import Complete")}, "done", ""},
		{"unknown", cdi.Unknown, 0, conditions{cond(cdi.DataVolumeBound, corev1.ConditionUnknown, "NodeLost", "")}, "waiting", "NodeLost"},
	} {
		t.Run(c.what, func(t *testing.T) {
			dv := &cdi.DataVolume{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Status: cdi.DataVolumeStatus{Phase: c.phase, RestartCount: c.restarts, Conditions: c.cond}}
			s := volumeState(dv, targets.Owner{UID: "u"}, targets.Volume{})
			got := "going"
			switch {
			case s.Ready:
				got = "ready"
			case s.Done:
				got = "done"
			case s.Failed:
				got = "failed"
			case s.TooSmall:
				got = "too small"
			case s.Waiting != "":
				got = "waiting"
			}
			if got != c.state || !strings.Contains(s.Waiting, c.words) || s.Restarts != c.restarts || s.Ours {
				t.Errorf("%s, want %s with %q: %+v", got, c.state, c.words, s)
			}
		})
	}
}
