package kubevirt

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/targets"
)

// labelPodSecurity is what a namespace says of the pods that it takes.
const labelPodSecurity = "pod-security.kubernetes.io/enforce"

// namespace looks at the place for the VM.
func (l *lookup) namespace(ctx context.Context) error {
	n, err := l.core.Namespaces().Get(ctx, l.q.Namespace, metav1.GetOptions{})
	if absent(err) {
		return nil
	}
	if err != nil {
		return classify("look at namespace "+l.q.Namespace, err)
	}
	l.set(func(f *targets.Facts) {
		f.NamespaceExists = true
		f.NamespaceTerminating = n.Status.Phase == corev1.NamespaceTerminating || n.DeletionTimestamp != nil
		f.PodSecurity = bounded(n.Labels[labelPodSecurity], 63)
	})
	return nil
}
