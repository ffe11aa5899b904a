package kubesim

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func retryDetails(seconds int) *metav1.StatusDetails {
	return &metav1.StatusDetails{RetryAfterSeconds: int32(seconds)}
}

// review answers the kinds that are questions.
func (s *Server) review(r *request) (int, any, error) {
	o, err := r.decodeBody()
	if err != nil {
		return 0, nil, err
	}
	if sub(o, "metadata") == nil {
		o["metadata"] = object{}
	}
	o["apiVersion"], o["kind"] = r.kind.apiVersion(), r.kind.name
	switch r.kind {
	case &accessReview:
		return s.reviewAccess(r, o)
	case &selfReview:
		set(o, object{"username": r.user.Name, "groups": []any{"system:authenticated"}}, "status", "userInfo")
		return http.StatusCreated, o, nil
	case &tokens:
		// CDI signs for any name: whether there is such a claim shows at the upload.
		set(o, r.namespace, "metadata", "namespace")
		set(o, s.signToken(r.namespace, str(o, "spec", "pvcName")), "status", "token")
		return http.StatusOK, o, nil
	}
	return 0, nil, apierrors.NewMethodNotSupported(r.kind.gr(), "create")
}

func (s *Server) reviewAccess(r *request, o object) (int, any, error) {
	spec := sub(o, "spec", "resourceAttributes")
	if spec == nil {
		if sub(o, "spec", "nonResourceAttributes") != nil {
			set(o, true, "status", "allowed")
			return http.StatusCreated, o, nil
		}
		return 0, nil, invalid(r.kind, "", field.Invalid(field.NewPath("spec"), "", "exactly one of nonResourceAttributes or resourceAttributes must be specified"))
	}
	a := attributes{str(spec, "verb"), str(spec, "group"), str(spec, "resource"), str(spec, "subresource"), str(spec, "namespace"), str(spec, "name")}
	ok := s.allowed(r.user, a)
	set(o, object{"allowed": ok}, "status")
	if !ok {
		set(o, statusOf(forbidden(r.user, a)).Message, "status", "reason")
	}
	return http.StatusCreated, o, nil
}
