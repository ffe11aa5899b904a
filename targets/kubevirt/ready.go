package kubevirt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// settled keeps what an API server that was just started refuses from being taken for the word of the cluster: until it has
// read its roles it answers 403 to everybody for everything. Such an answer becomes "not available, come again", which
// client-go does for a while by itself.
type settled struct{ next http.RoundTripper }

func (s settled) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := s.next.RoundTrip(r)
	if err != nil || a.StatusCode != http.StatusForbidden {
		return a, err
	}
	if !s.ready(r) {
		return unavailable(a), nil
	}
	// It may have become ready in between. What was refused was not done, so it may be asked once more.
	again := r.Clone(r.Context())
	if r.Body != nil && r.Body != http.NoBody {
		if r.GetBody == nil {
			return a, nil
		}
		if again.Body, err = r.GetBody(); err != nil {
			return nil, errors.Join(err, a.Body.Close())
		}
	}
	a.Body.Close()
	return s.next.RoundTrip(again)
}

// ready tells whether the server has read its roles. Who may not ask for that may ask for the version, as one did to
// connect, and is refused that as well for as long as there are no roles.
func (s settled) ready(r *http.Request) bool {
	ctx, stop := context.WithTimeout(r.Context(), 10*time.Second)
	defer stop()
	code := s.ask(ctx, r, "/readyz")
	if code == http.StatusForbidden {
		code = s.ask(ctx, r, "/version")
	}
	return code == http.StatusOK
}

// ask gives the status of a path of the server for the user of a request, 0 where none came.
func (s settled) ask(ctx context.Context, r *http.Request, path string) int {
	u := *r.URL
	u.Path, u.RawPath, u.RawQuery = path, "", ""
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0
	}
	q.Header = r.Header.Clone()
	for _, h := range []string{"Accept", "Content-Type", "Content-Length", "Connection", "Upgrade"} {
		q.Header.Del(h)
	}
	a, err := s.next.RoundTrip(q)
	if err != nil {
		return 0
	}
	a.Body.Close()
	return a.StatusCode
}

// unavailable is the answer of a server that is not ready, with what it said.
func unavailable(a *http.Response) *http.Response {
	defer a.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(a.Body, 64<<10))
	var st metav1.Status
	if json.Unmarshal(said, &st) != nil || st.Message == "" {
		st.Message = bounded(string(said), 200)
	}
	b, err := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
		Message: "the API server was just started and does not know who may do what yet: " + st.Message})
	if err != nil {
		b = nil // it is made of strings
	}
	h := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}}
	return &http.Response{Status: "503 Service Unavailable", StatusCode: http.StatusServiceUnavailable, Proto: a.Proto, ProtoMajor: a.ProtoMajor, ProtoMinor: a.ProtoMinor,
		Header: h, Body: io.NopCloser(bytes.NewReader(b)), ContentLength: int64(len(b)), Request: a.Request}
}
