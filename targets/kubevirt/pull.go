package kubevirt

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cdi "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"landfall/targets"
)

// What CDI needs to fetch an artifact itself lies beside the volume under names that follow from the volume's.

func pullSecret(v targets.Volume) string { return targets.Suffixed(v.Name, "-source") }
func pullCA(v targets.Volume) string     { return targets.Suffixed(v.Name, "-ca") }

func pullSource(v targets.Volume) *cdi.DataVolumeSource {
	h := &cdi.DataVolumeSourceHTTP{URL: v.Pull.URL}
	if v.Pull.Username != "" {
		h.SecretRef = pullSecret(v)
	}
	if len(v.Pull.CA) > 0 {
		h.CertConfigMap = pullCA(v)
	}
	return &cdi.DataVolumeSource{HTTP: h}
}

// pullObjects makes or renews the credentials and the authority before anything refers to them. They change with every
// start of the engine, so that what is there already is brought up to date.
func (t *Target) pullObjects(ctx context.Context, o targets.Owner, v targets.Volume) error {
	if v.Pull == nil {
		return nil
	}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: o.Namespace, Labels: labels(o)}
	}
	if v.Pull.Username != "" {
		s := &corev1.Secret{ObjectMeta: meta(pullSecret(v)), Type: corev1.SecretTypeOpaque, Data: map[string][]byte{
			"accessKeyId": []byte(v.Pull.Username), "secretKey": []byte(v.Pull.Password.Reveal()),
		}}
		if err := t.applySecret(ctx, o, s); err != nil {
			return err
		}
	}
	if len(v.Pull.CA) == 0 {
		return nil
	}
	return t.applyConfigMap(ctx, o, &corev1.ConfigMap{
		ObjectMeta: meta(pullCA(v)), Data: map[string]string{"ca.pem": string(v.Pull.CA)},
	})
}

func (t *Target) applySecret(ctx context.Context, o targets.Owner, s *corev1.Secret) error {
	what := object("secret", s.Namespace, s.Name)
	there, err := t.core.Secrets(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	if absent(err) {
		return classify("create "+what, write("create "+what, func() error {
			_, err := t.core.Secrets(s.Namespace).Create(ctx, s, metav1.CreateOptions{})
			return err
		}))
	}
	if err != nil {
		return classify("look for "+what, err)
	}
	if !ours(there, o) {
		return notOurs("secret", there, o)
	}
	if maps.EqualFunc(there.Data, s.Data, func(a, b []byte) bool { return string(a) == string(b) }) {
		return nil
	}
	there.Data = s.Data
	return classify("update "+what, write("update "+what, func() error {
		_, err := t.core.Secrets(s.Namespace).Update(ctx, there, metav1.UpdateOptions{})
		return err
	}))
}

func (t *Target) applyConfigMap(ctx context.Context, o targets.Owner, c *corev1.ConfigMap) error {
	what := object("configmap", c.Namespace, c.Name)
	there, err := t.core.ConfigMaps(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if absent(err) {
		return classify("create "+what, write("create "+what, func() error {
			_, err := t.core.ConfigMaps(c.Namespace).Create(ctx, c, metav1.CreateOptions{})
			return err
		}))
	}
	if err != nil {
		return classify("look for "+what, err)
	}
	if !ours(there, o) {
		return notOurs("configmap", there, o)
	}
	if maps.Equal(there.Data, c.Data) {
		return nil
	}
	there.Data = c.Data
	return classify("update "+what, write("update "+what, func() error {
		_, err := t.core.ConfigMaps(c.Namespace).Update(ctx, there, metav1.UpdateOptions{})
		return err
	}))
}
