package kubesim

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const maxBody = 3 << 20 // what the API server takes

// request is one call as the API means it.
type request struct {
	*http.Request
	user      User
	kind      *kind
	attrs     attributes
	namespace string
	name      string
	sub       string
	rest      string // after a proxy subresource, still escaped
	query     url.Values
	body      []byte
	dryRun    bool
}

// parse reads the path of a resource; nil means that the API has no such resource.
func (s *Server) parse(r *http.Request) (*request, error) {
	segments := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	var group, version string
	switch {
	case len(segments) >= 3 && segments[0] == "api":
		version, segments = segments[1], segments[2:]
	case len(segments) >= 4 && segments[0] == "apis":
		group, version, segments = segments[1], segments[2], segments[3:]
	default:
		return nil, nil
	}
	req := &request{Request: r, query: r.URL.Query()}
	if segments[0] == "namespaces" && len(segments) >= 3 && segments[2] != "status" && segments[2] != "finalize" {
		req.namespace, segments = segments[1], segments[2:]
	}
	plural := segments[0]
	home := group
	if group == groupSubres {
		home = groupKubeVirt // the subresource group serves the same resources without storing them
	}
	if req.kind = s.cfg.find(home, version, plural); req.kind == nil || req.kind.global == (req.namespace != "") && req.namespace != "" {
		return nil, nil
	}
	if len(segments) > 1 {
		req.name = segments[1]
	}
	if len(segments) > 2 {
		req.sub = segments[2]
		req.rest = "/" + strings.Join(segments[3:], "/")
	}
	for _, p := range []*string{&req.namespace, &req.name} {
		decoded, err := url.PathUnescape(*p)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		*p = decoded
	}
	req.dryRun = req.query.Get("dryRun") == "All"
	req.attrs = attributes{req.verb(), group, plural, req.sub, req.namespace, req.name}
	return req, nil
}

func (r *request) verb() string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if r.name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	if w := r.query.Get("watch"); w == "true" || w == "1" {
		return "watch"
	}
	if r.name == "" {
		return "list"
	}
	return "get"
}

func (r *request) readBody(w http.ResponseWriter) error {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d: %v", maxBody, err))
	}
	r.body = raw
	return nil
}

// decodeBody understands what the clients send: JSON, YAML, and protobuf for the built-in kinds.
func (r *request) decodeBody() (object, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Header.Get("Content-Type") == "" {
		media, err = "application/json", nil
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the content type is not readable: %v", err))
	}
	switch media {
	case "application/json":
	case "application/yaml":
		raw, err := yaml.YAMLToJSON(r.body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		r.body = raw
	case "application/vnd.kubernetes.protobuf":
		v, _, err := scheme.Codecs.UniversalDeserializer().Decode(r.body, nil, nil)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return untyped(v), nil
	default:
		return nil, unsupportedMedia(media, "application/json, application/yaml, application/vnd.kubernetes.protobuf")
	}
	o, err := decode(bytes.TrimSpace(r.body))
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized: %v", err))
	}
	return o, nil
}

func unsupportedMedia(media, accepted string) error {
	err := apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", apierrorsGroup, "", "", 0, false)
	err.ErrStatus.Message = fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s, and it was %s", accepted, media)
	return err
}

// options reads the body of a delete call.
func (r *request) options() (deleteOptions, error) {
	var opts deleteOptions
	if len(bytes.TrimSpace(r.body)) > 0 {
		o, err := r.decodeBody()
		if err != nil {
			return opts, err
		}
		t, err := typed[deleteOptions](o)
		if err != nil {
			return opts, apierrors.NewBadRequest(err.Error())
		}
		opts = *t
	}
	if p := r.query.Get("propagationPolicy"); p != "" && opts.PropagationPolicy == nil {
		policy := deletionPropagation(p)
		opts.PropagationPolicy = &policy
	}
	return opts, nil
}
