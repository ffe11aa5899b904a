package kubesim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	virtv1 "kubevirt.io/api/core/v1"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	kjson "sigs.k8s.io/json"
)

// admit is schema, webhooks, limits and quotas; old is nil for a creation.
func (s *Server) admit(t tx, k *kind, o, old object) error {
	if err := conforms(k, o); err != nil {
		return err
	}
	var err error
	switch k {
	case &datavolumes:
		err = admitDataVolume(o, old)
	case &machines:
		err = admitMachine(t, o)
	case &instances:
		err = admitInstance(o, old)
	}
	if err != nil || old != nil {
		return err
	}
	if err := t.withinLimits(k, o); err != nil {
		return err
	}
	return t.withinQuota(k, o)
}

// goType is the Go type of a kind, nil where the simulator knows none.
func goType(k *kind) any {
	switch k {
	case &datavolumes:
		return new(cdiv1.DataVolume)
	case &machines:
		return new(virtv1.VirtualMachine)
	case &instances:
		return new(virtv1.VirtualMachineInstance)
	}
	v, err := scheme.Scheme.New(k.gvk())
	if err != nil {
		return nil
	}
	return v
}

// conforms refuses values of a wrong type, as the schema does.
func conforms(k *kind, o object) error {
	v := goType(k)
	if v == nil {
		return nil
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		if !k.custom {
			return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", k.name, k.version, k.name, err))
		}
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", k.gr(), name(o), fmt.Sprintf("%s.%s %q is invalid: %v", k.name, k.group, name(o), err), 0, true)
	}
	return nil
}

// strict refuses unknown fields when the client asked for that.
func (r *request) strict() error {
	if r.query.Get("fieldValidation") != "Strict" || strings.Contains(r.Header.Get("Content-Type"), "protobuf") {
		return nil
	}
	v := goType(r.kind)
	if v == nil {
		return nil
	}
	found, err := kjson.UnmarshalStrict(r.body, v)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if len(found) == 0 {
		return nil
	}
	list := make([]string, len(found))
	for i, e := range found {
		list[i] = e.Error()
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: strict decoding error: %s", r.kind.name, r.kind.version, r.kind.name, strings.Join(list, ", ")))
}
