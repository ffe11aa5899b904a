package vm

import (
	"context"
	"encoding/base64"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"landfall/testdata/cluster/control"
	"landfall/testdata/cluster/lab"
)

// install does what KubeVirt's operator does, from the manifests that it would use, with the lab's authority: all but what
// virt-api itself must answer for, which is given back in the order in which it can be applied once virt-api runs.
func install(ctx context.Context, l *lab.Lab, a *control.Authority, program string) (services, later []*unstructured.Unstructured, err error) {
	all, err := control.Manifests(ctx, program)
	if err != nil {
		return nil, nil, err
	}
	ca := base64.StdEncoding.EncodeToString(a.CA())
	first := []*unstructured.Unstructured{control.Namespace(namespace)}
	var preferences []*unstructured.Unstructured
	for _, u := range all {
		switch u.GetKind() {
		case "CustomResourceDefinition": // layer api
		case "APIService":
			_ = unstructured.SetNestedField(u.Object, ca, "spec", "caBundle")
			services = append(services, u)
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			hooks, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
			for _, h := range hooks {
				_ = unstructured.SetNestedField(h.(map[string]any), ca, "clientConfig", "caBundle")
			}
			_ = unstructured.SetNestedSlice(u.Object, hooks, "webhooks")
			later = append(later, u)
		case "VirtualMachineClusterPreference":
			preferences = append(preferences, u)
		default:
			first = append(first, u)
		}
	}
	first = append(first,
		control.Object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: kubevirt-ca, namespace: %s}, data: {ca-bundle: %q}}`, namespace, a.CA()),
		control.Object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: kubevirt-export-ca, namespace: %s}, data: {ca-bundle: %q}}`, namespace, a.CA()),
		control.Object(`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: virt-api-lab, namespace: %s, labels: {kubernetes.io/service-name: virt-api}},
addressType: IPv4, endpoints: [{addresses: [%s], conditions: {ready: true}}], ports: [{name: "", port: 8443, protocol: TCP}]}`, namespace, address),
		control.Object(`{apiVersion: kubevirt.io/v1, kind: KubeVirt, metadata: {name: kubevirt, namespace: %s}, spec: {configuration: {developerConfiguration: {useEmulation: true}}}}`, namespace),
	)
	if err := control.Apply(ctx, l, first...); err != nil {
		return nil, nil, err
	}
	return services, append(later, preferences...), deployed(ctx, l)
}

// deployed writes the status that the operator gives a KubeVirt that is installed.
func deployed(ctx context.Context, l *lab.Lab) error {
	c, err := control.Config(l)
	if err != nil {
		return err
	}
	d, err := dynamic.NewForConfig(c)
	if err != nil {
		return err
	}
	of := d.Resource(schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "kubevirts"}).Namespace(namespace)
	u, err := of.Get(ctx, "kubevirt", metav1.GetOptions{})
	if err != nil {
		return err
	}
	condition := func(kind, status, reason string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": reason}
	}
	u.Object["status"] = map[string]any{
		"phase": "Deployed", "operatorVersion": version, "observedKubeVirtVersion": version, "targetKubeVirtVersion": version,
		"observedKubeVirtRegistry": "lab", "targetKubeVirtRegistry": "lab", "defaultArchitecture": "amd64",
		"conditions": []any{condition("Available", "True", "AllComponentsReady"), condition("Progressing", "False", "AllComponentsReady"),
			condition("Degraded", "False", "AllComponentsReady"), condition("Created", "True", "AllResourcesCreated")},
	}
	_, err = of.UpdateStatus(ctx, u, metav1.UpdateOptions{})
	return err
}
