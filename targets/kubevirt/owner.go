package kubevirt

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/flowcontrol"

	"landfall/engine/boundary"
	"landfall/engine/fault"
	"landfall/targets"
)

const (
	labelDigest  = "landfall.dev/digest" // the first half of the digest: a label value holds 63 characters
	labelManager = "app.kubernetes.io/managed-by"
	manager      = "landfall"

	annDigest      = "landfall.dev/digest"
	annMigration   = "landfall.dev/migration-name"
	annSourceName  = "landfall.dev/source-name"
	annMoRef       = "landfall.dev/source-moref"
	annInstance    = "landfall.dev/source-instance-uuid"
	annBIOS        = "landfall.dev/source-bios-uuid"
	annFingerprint = "landfall.dev/fingerprint"
)

func labels(o targets.Owner) map[string]string {
	return map[string]string{targets.LabelMigration: o.UID, labelManager: manager}
}

func checkOwner(o targets.Owner) error {
	if o.UID == "" {
		return fault.Newf(fault.Blocked, fault.Refused, "the migration has no UID to mark its objects with")
	}
	if e := validation.IsValidLabelValue(o.UID); len(e) > 0 {
		return fault.Newf(fault.Blocked, fault.Refused, "the migration's UID %q cannot be a label: %s", o.UID, e[0])
	}
	return nil
}

func ours(m metav1.Object, o targets.Owner) bool {
	return o.UID != "" && m.GetLabels()[targets.LabelMigration] == o.UID
}

// notOurs names who made what is in the way, as far as the object tells.
func notOurs(kind string, m metav1.Object, o targets.Owner) error {
	err := fault.Newf(fault.Blocked, fault.NotOurs, "%s %s/%s was made by %s, not by this migration", kind, m.GetNamespace(), m.GetName(), maker(m))
	if m.GetLabels()[targets.LabelMigration] != "" {
		return fault.Hint(err, "finish or clean up the other migration, or choose another spec.destination.vmName")
	}
	return fault.Hint(err, "choose another spec.destination.vmName, or remove the %s if nobody needs it; it is not touched by landfall", kind)
}

func maker(m metav1.Object) string {
	l := m.GetLabels()
	switch {
	case l[targets.LabelMigration] != "":
		return "migration " + bounded(l[targets.LabelMigration], 63)
	case l[labelManager] != "":
		return bounded(l[labelManager], 63)
	}
	var who []string
	for _, f := range m.GetManagedFields() {
		if f.Subresource == "" && f.Manager != "" && !slices.Contains(who, f.Manager) {
			who = append(who, f.Manager)
		}
	}
	if len(who) > 0 {
		return bounded(strings.Join(who, ", "), 120) + " on " + m.GetCreationTimestamp().UTC().Format("2006-01-02 15:04")
	}
	return "someone else"
}

// write runs one write that others can see, between two marks.
func write(name string, do func() error) error {
	boundary.Cross(boundary.TargetAct, name)
	err := do()
	boundary.Cross(boundary.TargetAct, name)
	return err
}

var hexRun = regexp.MustCompile(`[0-9a-fA-F]{32,}`)

// digestLabels marks what is made for an artifact: a label to find it by, an annotation with the whole.
func digestLabels(digest string, l, ann map[string]string) {
	if digest == "" {
		return
	}
	ann[annDigest] = digest
	if h := hexRun.FindString(digest); h != "" {
		l[labelDigest] = strings.ToLower(h[:32])
	}
}

func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, b)
	return out
}

func object(kind, namespace, name string) string {
	return fmt.Sprintf("%s %s/%s", kind, namespace, name)
}

func limiter(qps float32, burst int) flowcontrol.RateLimiter {
	return flowcontrol.NewTokenBucketRateLimiter(qps, burst)
}
