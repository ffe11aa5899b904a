package kubevirt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	virt "kubevirt.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"landfall/targets"
)

// encode gives the machine as YAML that says only what we want, and its fingerprint, which it also carries.
func encode(vm *virt.VirtualMachine) (manifest, sum string, err error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(vm)
	if err != nil {
		return "", "", err
	}
	delete(m, "status")
	u := unstructured.Unstructured{Object: m}
	unstructured.RemoveNestedField(m, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(m, "spec", "template", "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(m, "spec", "template", "spec", "domain", "resources")
	plain, err := yaml.Marshal(m)
	if err != nil {
		return "", "", err
	}
	h := sha256.Sum256(plain)
	sum = hex.EncodeToString(h[:])
	u.SetAnnotations(merged(u.GetAnnotations(), map[string]string{annFingerprint: sum}))
	marked, err := yaml.Marshal(m)
	return string(marked), sum, err
}

// decode reads a plan's manifest.
func decode(p targets.Plan) (*unstructured.Unstructured, error) {
	var m map[string]any
	if err := yaml.Unmarshal([]byte(p.Manifest), &m); err != nil {
		return nil, fmt.Errorf("read the manifest of %s: %w", p.Name, err)
	}
	u := &unstructured.Unstructured{Object: m}
	if u.GetName() != p.Name || u.GetNamespace() != p.Namespace {
		return nil, fmt.Errorf("the manifest of %s/%s names %s/%s", p.Namespace, p.Name, u.GetNamespace(), u.GetName())
	}
	return u, nil
}

// escaped makes a foreign text fit for an annotation that people and terminals read: what is not printable is written out.
func escaped(s string) string {
	const limit = 512
	var b strings.Builder
	n := 0
	for _, c := range strings.ToValidUTF8(s, "\uFFFD") {
		if n++; n > limit {
			b.WriteString("…")
			break
		}
		if unicode.IsPrint(c) {
			b.WriteRune(c)
			continue
		}
		q := strconv.QuoteRuneToASCII(c)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}
