package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"landfall/testdata/cluster/lab"
)

// Manifests runs a program that prints YAML documents.
func Manifests(ctx context.Context, program string) ([]*unstructured.Unstructured, error) {
	out, err := exec.CommandContext(ctx, program).Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", program, err)
	}
	return Documents(out)
}

// Documents reads YAML documents.
func Documents(b []byte) (all []*unstructured.Unstructured, err error) {
	r := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(b)))
	defer r.Close()
	buf := make([]byte, 16<<20)
	for {
		n, err := r.Read(buf)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(buf[:n], &u.Object); err != nil {
			return nil, err
		}
		if len(u.Object) > 0 {
			unstructured.RemoveNestedField(u.Object, "status")
			unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
			all = append(all, u)
		}
	}
}

// Apply makes objects, or makes them be as given.
func Apply(ctx context.Context, l *lab.Lab, objects ...*unstructured.Unstructured) error {
	c, err := Config(l)
	if err != nil {
		return err
	}
	d, err := dynamic.NewForConfig(c)
	if err != nil {
		return err
	}
	core, err := kubernetes.NewForConfig(c)
	if err != nil {
		return err
	}
	known := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(core.Discovery()))
	for _, u := range objects {
		gvk := u.GroupVersionKind()
		m, err := known.RESTMapping(gvk.GroupKind(), gvk.Version)
		for end := time.Now().Add(30 * time.Second); meta.IsNoMatchError(err) && time.Now().Before(end); {
			time.Sleep(200 * time.Millisecond) // a kind that was just made is not served at once
			known.Reset()
			m, err = known.RESTMapping(gvk.GroupKind(), gvk.Version)
		}
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		var to dynamic.ResourceInterface = d.Resource(m.Resource)
		if m.Scope.Name() == meta.RESTScopeNameNamespace {
			to = d.Resource(m.Resource).Namespace(u.GetNamespace())
		}
		b, err := u.MarshalJSON()
		if err != nil {
			return err
		}
		force := true
		if _, err := to.Patch(ctx, u.GetName(), types.ApplyPatchType, b, metav1.PatchOptions{FieldManager: "cluster-lab", Force: &force}); err != nil {
			return fmt.Errorf("apply %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return nil
}

// Object reads one object that is written in YAML.
func Object(format string, args ...any) *unstructured.Unstructured {
	all, err := Documents(fmt.Appendf(nil, format, args...))
	if err != nil || len(all) != 1 {
		panic(fmt.Sprintf("no object: %v", err))
	}
	return all[0]
}

// Namespace is a namespace.
func Namespace(name string) *unstructured.Unstructured {
	return Object("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name)
}

// kinds installs the kinds of KubeVirt and CDI, and waits until they are served.
func kinds(ctx context.Context, l *lab.Lab, programs ...string) error {
	for _, p := range programs {
		all, err := Manifests(ctx, p)
		if err != nil {
			return err
		}
		for _, u := range all {
			if u.GetKind() != "CustomResourceDefinition" {
				continue
			}
			if err := Apply(ctx, l, u); err != nil {
				return err
			}
		}
	}
	c, err := Config(l)
	if err != nil {
		return err
	}
	d, err := dynamic.NewForConfig(c)
	if err != nil {
		return err
	}
	crds := d.Resource(schemaCRD)
	return l.Until(ctx, "the kinds of KubeVirt and CDI are served", time.Minute, func(ctx context.Context) error {
		all, err := crds.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, u := range all.Items {
			if !established(u) {
				return fmt.Errorf("%s is not", u.GetName())
			}
		}
		return nil
	})
}
