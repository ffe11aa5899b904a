package kubevirt

import (
	"context"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"landfall/targets"
)

var machines = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachines"}

func (t *Target) machines(p targets.Plan) dynamic.ResourceInterface {
	return t.dynamic.Resource(machines).Namespace(p.Namespace)
}

// Machine looks at the virtual machine and compares what was rendered with what is there.
func (t *Target) Machine(ctx context.Context, o targets.Owner, p targets.Plan) (targets.MachineState, error) {
	there, err := t.machines(p).Get(ctx, p.Name, metav1.GetOptions{})
	if absent(err) {
		return targets.MachineState{}, nil
	}
	if err != nil {
		return targets.MachineState{}, classify("look at "+object("virtualmachine", p.Namespace, p.Name), err)
	}
	want, err := decode(p)
	if err != nil {
		return targets.MachineState{}, err
	}
	s := targets.MachineState{Exists: true, Ours: ours(there, o), UID: string(there.GetUID())}
	s.RunStrategy, _, _ = unstructured.NestedString(there.Object, "spec", "runStrategy")
	s.Status, _, _ = unstructured.NestedString(there.Object, "status", "printableStatus")
	s.Diff = drift(want, there)
	s.Matches = s.Ours && len(s.Diff) == 0 && there.GetDeletionTimestamp() == nil
	return s, nil
}

// ApplyMachine creates the virtual machine halted, or lays what is rendered over ours. Fields that others added stay, and
// so does whether it runs.
func (t *Target) ApplyMachine(ctx context.Context, o targets.Owner, p targets.Plan) error {
	return onConflict(func() error { return t.applyMachine(ctx, o, p) })
}

// onConflict looks and acts anew where the object was written between the two, which KubeVirt's controllers do often.
func onConflict(act func() error) error { return retry.RetryOnConflict(retry.DefaultBackoff, act) }

func (t *Target) applyMachine(ctx context.Context, o targets.Owner, p targets.Plan) error {
	if err := checkOwner(o); err != nil {
		return err
	}
	what := object("virtualmachine", p.Namespace, p.Name)
	want, err := decode(p)
	if err != nil {
		return err
	}
	there, err := t.machines(p).Get(ctx, p.Name, metav1.GetOptions{})
	if absent(err) {
		err = write("create "+what, func() error {
			_, err := t.machines(p).Create(ctx, want, metav1.CreateOptions{})
			return err
		})
		return classify("create "+what, err)
	}
	if err != nil {
		return classify("look at "+what, err)
	}
	if !ours(there, o) {
		return notOurs("virtualmachine", there, o)
	}
	if len(drift(want, there)) == 0 {
		return nil
	}
	next := there.DeepCopy()
	next.Object = overlay(next.Object, unasked(want).Object).(map[string]any)
	return classify("update "+what, write("update "+what, func() error {
		_, err := t.machines(p).Update(ctx, next, metav1.UpdateOptions{})
		return err
	}))
}

// SetRunStrategy asks the machine to run or to halt. The patch is refused by the cluster if the machine changed since it
// was looked at; then it is looked at again.
func (t *Target) SetRunStrategy(ctx context.Context, o targets.Owner, p targets.Plan, strategy string) error {
	return onConflict(func() error { return t.setRunStrategy(ctx, o, p, strategy) })
}

func (t *Target) setRunStrategy(ctx context.Context, o targets.Owner, p targets.Plan, strategy string) error {
	what := object("virtualmachine", p.Namespace, p.Name)
	there, err := t.machines(p).Get(ctx, p.Name, metav1.GetOptions{})
	if err != nil {
		return classify("look at "+what, err)
	}
	if !ours(there, o) {
		return notOurs("virtualmachine", there, o)
	}
	is, _, _ := unstructured.NestedString(there.Object, "spec", "runStrategy")
	_, running, _ := unstructured.NestedFieldNoCopy(there.Object, "spec", "running")
	if is == strategy && !running {
		return nil
	}
	spec := map[string]any{"runStrategy": strategy}
	if running {
		spec["running"] = nil // the two exclude each other
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": there.GetUID(), "resourceVersion": there.GetResourceVersion()},
		"spec":     spec,
	})
	if err != nil {
		return err
	}
	doing := "set runStrategy " + strategy + " of " + what
	return classify(doing, write(doing, func() error {
		_, err := t.machines(p).Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}))
}

// drift says where what is there is not what was rendered. Whether the machine runs is no drift.
func drift(want, there *unstructured.Unstructured) []string {
	return missing("", unasked(want).Object, there.Object)
}

// unasked is the manifest without what is decided later or by the cluster.
func unasked(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	unstructured.RemoveNestedField(u.Object, "spec", "runStrategy")
	return u
}

func short(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return bounded(strings.Trim(string(b), `"`), 120)
}
