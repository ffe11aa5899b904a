package kubevirt

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"landfall/engine/fault"
	"landfall/targets"
)

// kinds are the sorts of things that are made, in the order in which they are taken away: what uses before what is used.
var kinds = []struct {
	kind string
	gvr  schema.GroupVersionResource
}{
	{"virtualmachine", machines},
	{"service", schema.GroupVersionResource{Version: "v1", Resource: "services"}},
	{"datavolume", schema.GroupVersionResource{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "datavolumes"}},
	{"persistentvolumeclaim", schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}},
	{"secret", schema.GroupVersionResource{Version: "v1", Resource: "secrets"}},
	{"configmap", schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}},
}

// Owned lists everything in the namespace that carries the owner's label, but not what goes with its own owner, such as
// the claim of a DataVolume.
func (t *Target) Owned(ctx context.Context, o targets.Owner) ([]targets.Ref, error) {
	if err := checkOwner(o); err != nil {
		return nil, err
	}
	served, err := t.groups(ctx)
	if err != nil {
		return nil, err
	}
	var refs []targets.Ref
	for _, k := range kinds {
		if k.gvr.Group != "" && !served[k.gvr.Group] {
			continue // an API that the cluster does not serve holds nothing
		}
		next := ""
		for {
			list, err := t.dynamic.Resource(k.gvr).Namespace(o.Namespace).List(ctx, metav1.ListOptions{
				LabelSelector: targets.LabelMigration + "=" + o.UID, Limit: 500, Continue: next,
			})
			if err != nil {
				return nil, classify("list "+k.gvr.Resource+" in "+o.Namespace, err)
			}
			for i := range list.Items {
				if metav1.GetControllerOf(&list.Items[i]) == nil {
					refs = append(refs, targets.Ref{Kind: k.kind, Namespace: o.Namespace, Name: list.Items[i].GetName()})
				}
			}
			if next = list.GetContinue(); next == "" {
				break
			}
		}
	}
	return refs, nil
}

// Remove deletes one thing of ours: the very one that was looked at, by its UID.
func (t *Target) Remove(ctx context.Context, o targets.Owner, r targets.Ref) error {
	there, gvr, err := t.find(ctx, r)
	if err != nil || there == nil {
		return err
	}
	if !ours(there, o) {
		return notOurs(r.Kind, there, o)
	}
	if there.GetDeletionTimestamp() != nil {
		return nil
	}
	uid, background := there.GetUID(), metav1.DeletePropagationBackground
	err = write("delete "+r.String(), func() error {
		return t.dynamic.Resource(gvr).Namespace(r.Namespace).Delete(ctx, r.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background,
		})
	})
	if absent(err) {
		return nil
	}
	return classify("delete "+r.String(), err)
}

// Present tells whether the thing exists and is ours.
func (t *Target) Present(ctx context.Context, o targets.Owner, r targets.Ref) (bool, error) {
	there, _, err := t.find(ctx, r)
	return err == nil && there != nil && ours(there, o), err
}

// find gives nil where the cluster says that the thing is not there.
func (t *Target) find(ctx context.Context, r targets.Ref) (*unstructured.Unstructured, schema.GroupVersionResource, error) {
	for _, k := range kinds {
		if k.kind != r.Kind {
			continue
		}
		u, err := t.dynamic.Resource(k.gvr).Namespace(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		if absent(err) {
			return nil, k.gvr, nil
		}
		return u, k.gvr, classify("look at "+r.String(), err)
	}
	return nil, schema.GroupVersionResource{}, fault.Newf(fault.Blocked, fault.Unsupported, "kind %q is none that is made here", r.Kind)
}
