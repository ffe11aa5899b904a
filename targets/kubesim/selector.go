package kubesim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	klabels "k8s.io/apimachinery/pkg/labels"
)

// selectable are the fields, besides name and namespace, that a field selector may use.
var selectable = map[*kind][]string{
	&pods:    {"spec.nodeName", "status.phase", "status.podIP", "spec.serviceAccountName"},
	&events:  {"involvedObject.kind", "involvedObject.name", "involvedObject.namespace", "involvedObject.uid", "reason", "type"},
	&secrets: {"type"}, &namespaces: {"status.phase"}, &nodes: {"spec.unschedulable"},
}

// selector reads labelSelector and fieldSelector.
func (r *request) selector() (func(object) bool, error) {
	byLabel, err := klabels.Parse(r.query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("unable to parse requirement: %v", err))
	}
	byField, err := fields.ParseSelector(r.query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	for _, q := range byField.Requirements() {
		if q.Field != "metadata.name" && q.Field != "metadata.namespace" && !slices.Contains(selectable[r.kind], q.Field) {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", q.Field))
		}
	}
	only := r.name
	return func(o object) bool {
		return (only == "" || name(o) == only) && byLabel.Matches(klabels.Set(labels(o))) && byField.Matches(fieldsOf(o, byField))
	}, nil
}

func fieldsOf(o object, s fields.Selector) fields.Set {
	set := fields.Set{}
	for _, q := range s.Requirements() {
		switch v := at(o, strings.Split(q.Field, ".")...).(type) {
		case string:
			set[q.Field] = v
		case bool:
			set[q.Field] = strconv.FormatBool(v)
		}
	}
	return set
}

func (s *Server) listing(r *request) (int, any, error) {
	match, err := r.selector()
	if err != nil {
		return 0, nil, err
	}
	var all []object
	var rv uint64
	s.store.view(func(t tx) { all, rv = t.list(r.kind, r.namespace), s.store.rv })
	items := make([]object, 0, len(all))
	for _, o := range all {
		if match(o) {
			items = append(items, o)
		}
	}
	return http.StatusOK, object{
		"apiVersion": r.kind.apiVersion(), "kind": r.kind.name + "List",
		"metadata": object{"resourceVersion": strconv.FormatUint(rv, 10)}, "items": items,
	}, nil
}
