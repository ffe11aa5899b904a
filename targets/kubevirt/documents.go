package kubevirt

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"landfall/targets"
)

// Documents gives everything that is made for a plan as YAML documents, for people. Where the cluster is to fetch the disks
// itself, neither the credential nor the whole address is shown, for the address is part of the secret.
func (t *Target) Documents(o targets.Owner, p targets.Plan) (string, error) { return Documents(o, p) }

// Documents is the pure function behind Target.Documents.
func Documents(o targets.Owner, p targets.Plan) (string, error) {
	o.Namespace = p.Namespace
	var docs []string
	add := func(head string, object any) error {
		y, err := document(object)
		docs = append(docs, head+y)
		return err
	}
	for _, v := range p.Volumes {
		head := ""
		if p.Serve != "" {
			v.Pull = shown(p.Serve)
			head = fmt.Sprintf("# Before it: Secret %s with the credential and ConfigMap %s with the authority by which CDI fetches the disk,\n# not shown here. The address is completed when the disk is served.\n", pullSecret(v), pullCA(v))
		}
		dv := dataVolume(o, v)
		dv.TypeMeta = metav1.TypeMeta{APIVersion: "cdi.kubevirt.io/v1beta1", Kind: "DataVolume"}
		if err := add(head, dv); err != nil {
			return "", fmt.Errorf("show volume %s: %w", v.Name, err)
		}
	}
	docs = append(docs, p.Manifest)
	for _, port := range p.Probes {
		svc := service(o, p, port)
		svc.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
		if err := add("# For the checks of the started VM.\n", svc); err != nil {
			return "", fmt.Errorf("show service %s: %w", svc.Name, err)
		}
	}
	return strings.Join(docs, "---\n"), nil
}

// shown is the place that the cluster fetches a disk from, without what is secret.
func shown(host string) *targets.Pull {
	return &targets.Pull{URL: "https://" + host + "/", Username: "shown", CA: []byte("shown")}
}

func document(object any) (string, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return "", err
	}
	delete(m, "status")
	if meta, ok := m["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
	}
	y, err := yaml.Marshal(m)
	return string(y), err
}
