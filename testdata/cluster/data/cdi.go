package data

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"landfall/testdata/cluster/control"
	"landfall/testdata/cluster/lab"
)

// Namespace is CDI's.
const Namespace = "cdi"

var (
	cdis     = schema.GroupVersionResource{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "cdis"}
	profiles = schema.GroupVersionResource{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "storageprofiles"}
)

// installCDI starts CDI's operator and waits until it has installed what it manages.
func installCDI(ctx context.Context, l *lab.Lab) error {
	c, err := control.Config(l)
	if err != nil {
		return err
	}
	d, err := dynamic.NewForConfig(c)
	if err != nil {
		return err
	}
	env := ""
	values := map[string]string{
		"DEPLOY_CLUSTER_RESOURCES": "true", "OPERATOR_VERSION": cdiVersion, "VERBOSITY": "1", "PULL_POLICY": "Never", "MONITORING_NAMESPACE": "",
		"CONTROLLER_IMAGE": cdiImage("cdi-controller"), "IMPORTER_IMAGE": cdiImage("cdi-importer"), "CLONER_IMAGE": cdiImage("cdi-cloner"),
		"OVIRT_POPULATOR_IMAGE": cdiImage("cdi-importer"), "APISERVER_IMAGE": cdiImage("cdi-apiserver"),
		"UPLOAD_SERVER_IMAGE": cdiImage("cdi-uploadserver"), "UPLOAD_PROXY_IMAGE": cdiImage("cdi-uploadproxy"),
	}
	for _, name := range sorted(values) {
		env += fmt.Sprintf("{name: %s, value: %q}, ", name, values[name])
	}
	if err := begun(ctx, l, d); err != nil {
		return err
	}
	if err := control.Apply(ctx, l,
		control.Object("{apiVersion: v1, kind: ServiceAccount, metadata: {name: cdi-operator, namespace: %s}}", Namespace),
		// The operator may do everything here; what it installs has the roles that it makes for them.
		control.Object(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: cdi-operator}, subjects: [{kind: ServiceAccount, name: cdi-operator, namespace: %s}],
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}`, Namespace),
		control.Object(`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: kubevirt-cluster-critical}, value: 1000000000, description: CDI and KubeVirt}`),
		control.Object(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: cdi-operator, namespace: %[1]s, labels: {name: cdi-operator, operator.cdi.kubevirt.io: ""}}, spec: {replicas: 1, selector: {matchLabels: {name: cdi-operator}},
template: {metadata: {labels: {name: cdi-operator, operator.cdi.kubevirt.io: ""}}, spec: {serviceAccountName: cdi-operator, securityContext: {runAsNonRoot: true},
nodeSelector: {kubernetes.io/hostname: %[4]s}, containers: [{name: cdi-operator, image: %[2]q, imagePullPolicy: Never, ports: [{name: metrics, containerPort: 8080}], env: [%[3]s]}]}}}}`, Namespace, cdiImage("cdi-operator"), env, NodeName),
	); err != nil {
		return err
	}
	if err := l.Until(ctx, "CDI is deployed and available", 4*time.Minute, func(ctx context.Context) error {
		u, err := d.Resource(cdis).Get(ctx, "cdi", metav1.GetOptions{})
		if err != nil {
			return err
		}
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		if phase != "Deployed" || !condition(u, "Available") {
			return fmt.Errorf("its phase is %q", phase)
		}
		return nil
	}); err != nil {
		return err
	}
	return l.Until(ctx, "CDI knows the storage classes", time.Minute, func(ctx context.Context) error { return profile(ctx, l, d) })
}

// begun has the operator find an installation of its own that was begun and not finished. In a new one it waits until
// whatever it would make is gone, and the kinds are there since layer api; were they removed for it, virt-api and
// virt-controller would end themselves.
func begun(ctx context.Context, l *lab.Lab, d dynamic.Interface) error {
	if err := control.Apply(ctx, l, control.Namespace(Namespace),
		control.Object(`{apiVersion: cdi.kubevirt.io/v1beta1, kind: CDI, metadata: {name: cdi}, spec: {imagePullPolicy: Never, config: {featureGates: [HonorWaitForFirstConsumer]},
infra: {nodeSelector: {kubernetes.io/hostname: %[1]s}}, workload: {nodeSelector: {kubernetes.io/hostname: %[1]s}}}}`, NodeName), // not on nodes that are played
	); err != nil {
		return err
	}
	u, err := d.Resource(cdis).Get(ctx, "cdi", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase == "" {
		u.Object["status"] = map[string]any{"phase": "Deploying", "operatorVersion": cdiVersion, "targetVersion": cdiVersion}
		if u, err = d.Resource(cdis).Update(ctx, u, metav1.UpdateOptions{}); err != nil { // this kind has no status of its own
			return err
		}
	}
	return control.Apply(ctx, l, control.Object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: cdi-config, namespace: %s, labels: {operator.cdi.kubevirt.io: ""},
ownerReferences: [{apiVersion: cdi.kubevirt.io/v1beta1, kind: CDI, name: cdi, uid: %s, controller: true, blockOwnerDeletion: true}]}}`, Namespace, u.GetUID()))
}

func condition(u *unstructured.Unstructured, kind string) bool {
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range all {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			return m["status"] == "True"
		}
	}
	return false
}

// profile says of the classes what CDI cannot know: which access and volume modes they have.
func profile(ctx context.Context, l *lab.Lab, d dynamic.Interface) error {
	for _, class := range []string{Immediate, Waiting, Barren} {
		u, err := d.Resource(profiles).Get(ctx, class, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if _, set, _ := unstructured.NestedSlice(u.Object, "spec", "claimPropertySets"); !set {
			if err := control.Apply(ctx, l, control.Object(`{apiVersion: cdi.kubevirt.io/v1beta1, kind: StorageProfile, metadata: {name: %s}, spec: {claimPropertySets: [{accessModes: [ReadWriteOnce], volumeMode: Filesystem}]}}`, class)); err != nil {
				return err
			}
		}
		if u, err = d.Resource(profiles).Get(ctx, class, metav1.GetOptions{}); err != nil {
			return err
		}
		if sets, _, _ := unstructured.NestedSlice(u.Object, "status", "claimPropertySets"); len(sets) == 0 {
			return errors.New(class + " has no properties yet")
		}
	}
	return nil
}
