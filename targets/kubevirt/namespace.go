package kubevirt

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/targets"
)

var _ targets.Founder = (*Target)(nil)

// CreateNamespace makes the namespace, marked as made by us. It does not carry the migration's label: it outlives the
// migration.
func (t *Target) CreateNamespace(ctx context.Context, o targets.Owner) error {
	err := write("create namespace "+o.Namespace, func() error {
		_, err := t.core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: o.Namespace, Labels: map[string]string{labelManager: manager},
		}}, metav1.CreateOptions{})
		return err
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return classify("create namespace "+o.Namespace, err)
}
