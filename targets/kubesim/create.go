package kubesim

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (s *Server) create(r *request) (int, any, error) {
	o, err := r.decodeBody()
	if err != nil {
		return 0, nil, err
	}
	if err := r.shape(o); err != nil {
		return 0, nil, err
	}
	if err := r.strict(); err != nil {
		return 0, nil, err
	}
	if str(o, "metadata", "resourceVersion") != "" {
		return 0, nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if r.kind.status || r.kind == &instances {
		delete(o, "status")
	}
	for _, f := range []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields", "selfLink"} {
		set(o, nil, "metadata", f)
	}
	if name(o) == "" && str(o, "metadata", "generateName") != "" {
		set(o, str(o, "metadata", "generateName")+suffix(), "metadata", "name")
	}
	var stored object
	err = s.store.do(func(t tx) error {
		if err := t.canCreate(r.kind, o); err != nil {
			return err
		}
		s.setDefaults(t, r.kind, o)
		if err := s.admit(t, r.kind, o, nil); err != nil {
			return err
		}
		if r.dryRun {
			set(o, stamp(s.cfg.Now()), "metadata", "creationTimestamp")
			set(o, "00000000-0000-4000-8000-"+fmt.Sprintf("%012x", rand.Int64N(1<<47)), "metadata", "uid")
			stored = o
			return nil
		}
		stored = t.put(r.kind, o)
		return nil
	})
	return http.StatusCreated, stored, err
}

// shape checks that a body is an object of the kind and place that its URL names.
func (r *request) shape(o object) error {
	if v := str(o, "apiVersion"); v != "" && v != r.kind.apiVersion() || str(o, "kind") != "" && str(o, "kind") != r.kind.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is %s %s, the path wants %s %s", v, str(o, "kind"), r.kind.apiVersion(), r.kind.name))
	}
	if sub(o, "metadata") == nil {
		o["metadata"] = object{}
	}
	if ns := namespace(o); ns != "" && ns != r.namespace {
		return apierrors.NewBadRequest(fmt.Sprintf("the namespace of the provided object does not match the namespace sent on the request: %q and %q", ns, r.namespace))
	}
	if !r.kind.global {
		if r.namespace == "" {
			return apierrors.NewBadRequest("namespace not provided")
		}
		set(o, r.namespace, "metadata", "namespace")
	}
	if r.name != "" && name(o) != r.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name(o), r.name))
	}
	return nil
}

func (t tx) canCreate(k *kind, o object) error {
	if err := validName(k, o); err != nil {
		return err
	}
	if !k.global {
		home := t.get(&namespaces, "", namespace(o))
		if home == nil {
			return apierrors.NewNotFound(namespaces.gr(), namespace(o))
		}
		if dying(home) {
			err := apierrors.NewForbidden(k.gr(), name(o), fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace(o)))
			err.ErrStatus.Details.Causes = []cause{{Type: "NamespaceTerminating", Field: "metadata.namespace", Message: "namespace " + namespace(o) + " is being terminated"}}
			return err
		}
	}
	if old := t.get(k, namespace(o), name(o)); old != nil {
		err := apierrors.NewAlreadyExists(k.gr(), name(o))
		if dying(old) {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return err
	}
	return nil
}

func validName(k *kind, o object) error {
	rule := func(n string) []string { return validation.NameIsDNSSubdomain(n, false) }
	switch k {
	case &namespaces:
		rule = utilvalidation.IsDNS1123Label
	case &services:
		rule = utilvalidation.IsDNS1035Label
	}
	var list field.ErrorList
	path := field.NewPath("metadata")
	if name(o) == "" {
		list = append(list, field.Required(path.Child("name"), "name or generateName is required"))
	} else {
		for _, m := range rule(name(o)) {
			list = append(list, field.Invalid(path.Child("name"), name(o), m))
		}
	}
	list = append(list, validLabels(path.Child("labels"), labels(o))...)
	for k := range sub(o, "metadata", "annotations") {
		for _, m := range utilvalidation.IsQualifiedName(strings.ToLower(k)) {
			list = append(list, field.Invalid(path.Child("annotations"), k, m))
		}
	}
	if len(list) > 0 {
		return apierrors.NewInvalid(k.gvk().GroupKind(), name(o), list)
	}
	return nil
}

func validLabels(path *field.Path, l map[string]string) field.ErrorList {
	var list field.ErrorList
	for k, v := range l {
		for _, m := range utilvalidation.IsQualifiedName(k) {
			list = append(list, field.Invalid(path, k, m))
		}
		for _, m := range utilvalidation.IsValidLabelValue(v) {
			list = append(list, field.Invalid(path, v, m))
		}
	}
	return list
}

func suffix() string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, 5)
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return string(b)
}

func invalid(k *kind, n string, errs ...*field.Error) error {
	return apierrors.NewInvalid(k.gvk().GroupKind(), n, errs)
}

func success(k *kind, o object) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: name(o), Group: k.group, Kind: k.plural, UID: asUID(uid(o))},
	}
}
