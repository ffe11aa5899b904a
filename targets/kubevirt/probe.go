package kubevirt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/targets"
)

// maxBody bounds what is read of a page.
const maxBody = 64 << 10

// Probe runs one check once.
func (t *Target) Probe(ctx context.Context, o targets.Owner, p targets.Plan, c spec.Check) (targets.Result, error) {
	r := targets.Result{Check: c, When: t.now()}
	var err error
	switch c.Type {
	case "HTTP":
		err = t.probeHTTP(ctx, o, p, &r)
	case "IP", "GuestAgent":
		var s targets.InstanceState
		if s, err = t.Instance(ctx, o, p); err == nil {
			judge(s, &r)
		}
	default:
		err = fault.Newf(fault.Blocked, fault.Unsupported, "check of type %q is not known", c.Type)
	}
	return r, err
}

func judge(s targets.InstanceState, r *targets.Result) {
	switch {
	case !s.Exists:
		r.Detail = "the instance does not run"
	case r.Check.Type == "IP":
		r.Passed = len(s.Addresses) > 0
		r.Detail = "no address is known"
		if r.Passed {
			r.Detail = strings.Join(s.Addresses, ", ")
		}
	default:
		r.Passed = s.Agent
		r.Detail = "the guest agent is not connected"
		if s.Agent {
			r.Detail = strings.TrimSpace("connected " + strings.TrimSpace(s.HostName+" "+s.OS))
		}
	}
}

// reachable leaves out addresses that say nothing of the network.
func reachable(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !a.IsUnspecified() && !a.IsMulticast()
}

// probeHTTP fetches a page of the guest through a Service of ours and the API server, so that the engine's host needs no
// way into the cluster's network.
func (t *Target) probeHTTP(ctx context.Context, o targets.Owner, p targets.Plan, r *targets.Result) error {
	service, err := t.probeService(ctx, o, p, r.Check.Port)
	if err != nil {
		return err
	}
	u, err := t.proxyURL(p.Namespace, service, r.Check)
	if err != nil {
		return err
	}
	doing := fmt.Sprintf("fetch %s of %s", r.Check.Path, object("virtualmachine", p.Namespace, p.Name))
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return fault.Newf(fault.Blocked, fault.Refused, "%s: %w", doing, err)
	}
	client := *t.http
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	switch {
	case err == nil:
	case sent.Load() && errors.Is(err, context.DeadlineExceeded):
		// The API server took the request and waits itself: what a guest that is not up yet does not answer is dropped.
		r.Detail = "the guest does not answer in time"
		return nil
	default:
		return classify(doing, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		r.Detail = bounded("the answer broke off: "+err.Error(), 256)
		return nil
	}
	if s, ok := apiStatus(res, body); ok {
		err := &apierrors.StatusError{ErrStatus: *s}
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsTooManyRequests(err) {
			return classify(doing+" through services/proxy", err)
		}
		// The way to the guest is open and nobody answers at its end yet.
		r.Detail = bounded(s.Message, 256)
		return nil
	}
	compare(res.StatusCode, string(body), r)
	return nil
}

func compare(status int, body string, r *targets.Result) {
	c := r.Check
	r.Detail = fmt.Sprintf("status %d, %d bytes", status, len(body))
	if len(body) == maxBody {
		r.Detail = fmt.Sprintf("status %d, the first %d bytes", status, len(body))
	}
	switch {
	case status != c.ExpectStatus:
		r.Detail += fmt.Sprintf("; expected status %d", c.ExpectStatus)
	case c.ExpectBodyContains != "" && !strings.Contains(body, c.ExpectBodyContains):
		r.Wrong = true
		r.Detail += fmt.Sprintf("; %q is not in it", bounded(c.ExpectBodyContains, 80))
	default:
		r.Passed = true
	}
}

// apiStatus tells an answer of the API server from one of the guest.
func apiStatus(res *http.Response, body []byte) (*metav1.Status, bool) {
	if res.StatusCode < 400 || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		return nil, false
	}
	var s metav1.Status
	if err := json.Unmarshal(body, &s); err != nil || s.Kind != "Status" || s.APIVersion != "v1" || s.Status != metav1.StatusFailure {
		return nil, false
	}
	return &s, true
}

func (t *Target) proxyURL(namespace, service string, c spec.Check) (string, error) {
	base, _, err := rest.DefaultServerUrlFor(t.config)
	if err != nil {
		return "", fault.Newf(fault.Blocked, "Kubeconfig", "address of the API server: %w", err)
	}
	page, err := url.Parse("/" + strings.TrimPrefix(c.Path, "/"))
	if err != nil {
		return "", fault.Newf(fault.Blocked, fault.Refused, "path %q of the check: %w", c.Path, err)
	}
	u := base.JoinPath("api/v1/namespaces", namespace, "services", fmt.Sprintf("http:%s:%d", service, c.Port), "proxy")
	u.Path += page.Path
	u.RawPath = ""
	u.RawQuery = page.RawQuery
	return u.String(), nil
}
