package kubesim

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	finalizerForeground = "foregroundDeletion"
	finalizerOrphan     = "orphan"
)

func (s *Server) remove(r *request) (int, any, error) {
	opts, err := r.options()
	if err != nil {
		return 0, nil, err
	}
	var answer any
	err = s.store.do(func(t tx) error {
		o := t.get(r.kind, r.namespace, r.name)
		if o == nil {
			return apierrors.NewNotFound(r.kind.gr(), r.name)
		}
		if p := opts.Preconditions; p != nil {
			if p.UID != nil && string(*p.UID) != uid(o) {
				return apierrors.NewConflict(r.kind.gr(), r.name, fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", *p.UID, uid(o)))
			}
			if p.ResourceVersion != nil && *p.ResourceVersion != str(o, "metadata", "resourceVersion") {
				return apierrors.NewConflict(r.kind.gr(), r.name, fmt.Errorf("Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", *p.ResourceVersion, str(o, "metadata", "resourceVersion")))
			}
		}
		answer = any(success(r.kind, o))
		if r.dryRun || len(opts.DryRun) > 0 {
			return nil
		}
		if left := t.delete(r.kind, o, opts.PropagationPolicy); left != nil {
			answer = left
		}
		return nil
	})
	return http.StatusOK, answer, err
}

func (s *Server) removeAll(r *request) (int, any, error) {
	opts, err := r.options()
	if err != nil {
		return 0, nil, err
	}
	match, err := r.selector()
	if err != nil {
		return 0, nil, err
	}
	s.store.view(func(t tx) {
		for _, o := range t.list(r.kind, r.namespace) {
			if match(o) && !r.dryRun {
				t.delete(r.kind, o, opts.PropagationPolicy)
			}
		}
	})
	return http.StatusOK, success(r.kind, object{}), nil
}

// delete removes o, or marks it when a finalizer still holds it, and returns what is left.
func (t tx) delete(k *kind, o object, policy *metav1.DeletionPropagation) object {
	c := clone(o)
	if policy != nil {
		switch *policy {
		case metav1.DeletePropagationForeground:
			setFinalizer(c, finalizerForeground, true)
		case metav1.DeletePropagationOrphan:
			setFinalizer(c, finalizerOrphan, true)
		}
	}
	if len(finalizers(c)) == 0 && k != &namespaces {
		t.drop(k, o)
		return nil
	}
	if !dying(c) {
		set(c, stamp(t.s.now()), "metadata", "deletionTimestamp")
		set(c, int64(0), "metadata", "deletionGracePeriodSeconds")
		if k == &namespaces {
			set(c, "Terminating", "status", "phase")
		}
	}
	return t.put(k, c)
}

// finalize takes a finalizer off and removes what nothing holds any more.
func (t tx) finalize(k *kind, o object, finalizer string) {
	o = t.edit(k, o, func(c object) { setFinalizer(c, finalizer, false) })
	if dying(o) && len(finalizers(o)) == 0 {
		t.drop(k, o)
	}
}
