package kubevirt

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/targets"
)

var _ targets.Rehearser = (*Target)(nil)

// Rehearse sends what the plan makes as a server-side dry run.
func (t *Target) Rehearse(ctx context.Context, o targets.Owner, p targets.Plan) error {
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	for _, v := range p.Volumes {
		if _, err := t.cdi.DataVolumes(o.Namespace).Create(ctx, dataVolume(o, v), dry); err != nil {
			return classify("rehearse "+object("datavolume", o.Namespace, v.Name), err)
		}
	}
	vm, err := decode(p)
	if err != nil {
		return err
	}
	_, err = t.dynamic.Resource(machines).Namespace(o.Namespace).Create(ctx, vm, dry)
	return classify("rehearse "+object("virtualmachine", o.Namespace, p.Name), err)
}
