package data

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	crds     = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
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
	if err := giveUpKinds(ctx, l, d); err != nil {
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
	for _, o := range []*unstructured.Unstructured{
		control.Namespace(Namespace),
		control.Object("{apiVersion: v1, kind: ServiceAccount, metadata: {name: cdi-operator, namespace: %s}}", Namespace),
		// The operator may do everything here; what it installs has the roles that it makes for them.
		control.Object(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: cdi-operator}, subjects: [{kind: ServiceAccount, name: cdi-operator, namespace: %s}],
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}`, Namespace),
		control.Object(`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: kubevirt-cluster-critical}, value: 1000000000, description: CDI and KubeVirt}`),
		control.Object(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: cdi-operator, namespace: %[1]s, labels: {name: cdi-operator, operator.cdi.kubevirt.io: ""}}, spec: {replicas: 1, selector: {matchLabels: {name: cdi-operator}},
template: {metadata: {labels: {name: cdi-operator, operator.cdi.kubevirt.io: ""}}, spec: {serviceAccountName: cdi-operator, securityContext: {runAsNonRoot: true},
nodeSelector: {kubernetes.io/hostname: %[4]s}, containers: [{name: cdi-operator, image: %[2]q, imagePullPolicy: Never, ports: [{name: metrics, containerPort: 8080}], env: [%[3]s]}]}}}}`, Namespace, cdiImage("cdi-operator"), env, NodeName),
		control.Object(`{apiVersion: cdi.kubevirt.io/v1beta1, kind: CDI, metadata: {name: cdi}, spec: {imagePullPolicy: Never, config: {featureGates: [HonorWaitForFirstConsumer]},
infra: {nodeSelector: {kubernetes.io/hostname: %[1]s}}, workload: {nodeSelector: {kubernetes.io/hostname: %[1]s}}}}`, NodeName), // not on nodes that are played
	} {
		if err := control.Apply(ctx, l, o); err != nil {
			return err
		}
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

// giveUpKinds removes the kinds that layer api brought, all but that of CDI itself: the operator does not take over what it
// did not make, and waits until it is gone. It is done once, before the operator is there.
func giveUpKinds(ctx context.Context, l *lab.Lab, d dynamic.Interface) error {
	u, err := d.Resource(cdis).Get(ctx, "cdi", metav1.GetOptions{})
	if err == nil {
		if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase != "" {
			return nil
		}
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	return l.Until(ctx, "the kinds are the operator's to make", time.Minute, func(ctx context.Context) error {
		all, err := d.Resource(crds).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, u := range all.Items {
			group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
			if !strings.HasSuffix(group, "cdi.kubevirt.io") || strings.HasPrefix(u.GetName(), "cdis.") || !madeHere(u) {
				continue
			}
			err = fmt.Errorf("%s is there still", u.GetName())
			if u.GetDeletionTimestamp() != nil {
				continue
			}
			if e := d.Resource(crds).Delete(ctx, u.GetName(), metav1.DeleteOptions{}); e != nil && !apierrors.IsNotFound(e) {
				return e
			}
		}
		return err
	})
}

// madeHere tells whether the lab made an object, and not the operator.
func madeHere(u unstructured.Unstructured) bool {
	for _, f := range u.GetManagedFields() {
		if f.Manager == "cluster-lab" {
			return true
		}
	}
	return false
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
