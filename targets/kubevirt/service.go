package kubevirt

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"landfall/engine/fault"
	"landfall/targets"
)

// probeName starts with a letter, as a Service's name must, whatever the machine's name starts with.
func probeName(p targets.Plan, port int) string {
	return targets.Suffixed("landfall-"+p.Name, fmt.Sprintf("-probe-%d", port))
}

// probeService makes sure of the Service by which a port of the guest is reached. It selects the instance by the
// migration's label, which the template gives it.
func (t *Target) probeService(ctx context.Context, o targets.Owner, p targets.Plan, port int) (string, error) {
	if err := checkOwner(o); err != nil {
		return "", err
	}
	if port < 1 || port > 65535 {
		return "", fault.Newf(fault.Blocked, fault.Refused, "port %d of the check does not exist", port)
	}
	name := probeName(p, port)
	what := object("service", p.Namespace, name)
	selector := map[string]string{targets.LabelMigration: o.UID}
	there, err := t.core.Services(p.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil && !ours(there, o):
		return "", notOurs("service", there, o)
	case err == nil && maps.Equal(there.Spec.Selector, selector):
		return name, nil
	case err == nil:
		there.Spec.Selector = selector
		err = write("update "+what, func() error {
			_, err := t.core.Services(p.Namespace).Update(ctx, there, metav1.UpdateOptions{})
			return err
		})
		return name, classify("update "+what, err)
	case !absent(err):
		return "", classify("look at "+what, err)
	}
	err = write("create "+what, func() error {
		_, err := t.core.Services(p.Namespace).Create(ctx, service(o, p, port), metav1.CreateOptions{})
		return err
	})
	return name, classify("create "+what, err)
}

func service(o targets.Owner, p targets.Plan, port int) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: probeName(p, port), Namespace: p.Namespace, Labels: labels(o)},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{targets.LabelMigration: o.UID},
			Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: int32(port), TargetPort: intstr.FromInt32(int32(port))}},
		},
	}
}
