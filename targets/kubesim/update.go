package kubesim

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"reflect"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
)

func asUID(s string) types.UID { return types.UID(s) }

func (s *Server) update(r *request, status bool) (int, any, error) {
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
	var stored object
	err = s.store.do(func(t tx) error {
		old := t.get(r.kind, r.namespace, r.name)
		if old == nil {
			return apierrors.NewNotFound(r.kind.gr(), r.name)
		}
		if r.kind.custom && str(o, "metadata", "resourceVersion") == "" {
			return invalid(r.kind, r.name, field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"))
		}
		stored, err = s.replace(t, r, old, o, status)
		return err
	})
	return http.StatusOK, stored, err
}

func (s *Server) patch(r *request, status bool) (int, any, error) {
	var stored object
	err := s.store.do(func(t tx) error {
		old := t.get(r.kind, r.namespace, r.name)
		if old == nil {
			return apierrors.NewNotFound(r.kind.gr(), r.name)
		}
		o, err := r.patched(old)
		if err != nil {
			return err
		}
		if err := r.shape(o); err != nil {
			return err
		}
		stored, err = s.replace(t, r, old, o, status)
		return err
	})
	return http.StatusOK, stored, err
}

// patched applies the patch to a copy. Server-side apply is refused as a server without it would.
func (r *request) patched(old object) (object, error) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	var after []byte
	switch types.PatchType(media) {
	case types.JSONPatchType:
		p, perr := jsonpatch.DecodePatch(r.body)
		if perr != nil {
			return nil, apierrors.NewBadRequest(perr.Error())
		}
		if after, err = p.Apply(before); err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", r.kind.gr(), r.name, err.Error(), 0, false)
		}
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, r.body)
	case types.StrategicMergePatchType:
		if r.kind.custom {
			return nil, unsupportedMedia(media, "application/json-patch+json, application/merge-patch+json")
		}
		v, nerr := scheme.Scheme.New(r.kind.gvk())
		if nerr != nil { // a kind that the typed scheme does not know
			after, err = jsonpatch.MergePatch(before, r.body)
			break
		}
		after, err = strategicpatch.StrategicMergePatch(before, r.body, v)
	default:
		return nil, unsupportedMedia(media, "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json")
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	o, err := decode(after)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return o, nil
}

// replace puts o in the place of old, as far as a client may.
func (s *Server) replace(t tx, r *request, old, o object, status bool) (object, error) {
	k := r.kind
	if rv := str(o, "metadata", "resourceVersion"); rv != "" && rv != str(old, "metadata", "resourceVersion") {
		return nil, apierrors.NewConflict(k.gr(), r.name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if u := uid(o); u != "" && u != uid(old) {
		return nil, apierrors.NewConflict(k.gr(), r.name, fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", u, uid(old)))
	}
	if status {
		next := clone(old)
		set(next, o["status"], "status")
		o = next
	} else if k.status || k == &instances { // virt-api drops what others than KubeVirt write into a VMI's status
		set(o, old["status"], "status")
	}
	for _, f := range []string{"uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		set(o, at(old, "metadata", f), "metadata", f)
	}
	set(o, nil, "metadata", "managedFields")
	if err := validName(k, o); err != nil {
		return nil, err
	}
	if !status && !dying(old) {
		if err := immutable(k, o, old); err != nil {
			return nil, err
		}
		if err := s.admit(t, k, o, old); err != nil {
			return nil, err
		}
	}
	if r.dryRun {
		return o, nil
	}
	if dying(old) && len(finalizers(o)) == 0 && k != &namespaces {
		t.put(k, o)
		return t.drop(k, o), nil
	}
	return t.put(k, o), nil
}

// immutable is what the API or CDI's webhook refuse to have changed.
func immutable(k *kind, o, old object) error {
	switch k {
	case &claims:
		a, b := clone(o), clone(old)
		set(a, nil, "spec", "resources")
		set(b, nil, "spec", "resources")
		if !reflect.DeepEqual(a["spec"], b["spec"]) {
			return invalid(k, name(o), field.Forbidden(field.NewPath("spec"), "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"))
		}
	case &datavolumes:
		if !reflect.DeepEqual(o["spec"], old["spec"]) {
			return denied("datavolume-validate.cdi.kubevirt.io", []cause{invalidCause("spec", "Cannot update DataVolume Spec")})
		}
	}
	return nil
}
