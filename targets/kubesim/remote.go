package kubesim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Remote steers a cluster in another process. Its methods are those of Server.
type Remote struct {
	url, token string
	client     *http.Client
}

// Dial takes what the ready file says; nothing is asked yet.
func Dial(url, token string) *Remote {
	return &Remote{strings.TrimSuffix(url, "/"), token, &http.Client{Timeout: 30 * time.Second}}
}

func (r *Remote) Inject(ctx context.Context, list ...Fault) error {
	return r.do(ctx, "PUT", "/faults", list, nil)
}

func (r *Remote) ClearFaults(ctx context.Context) error {
	return r.do(ctx, "DELETE", "/faults", nil, nil)
}

func (r *Remote) Faults(ctx context.Context) (out []Fault, err error) {
	err = r.do(ctx, "GET", "/faults", nil, &out)
	return out, err
}

func (r *Remote) Force(ctx context.Context, namespace, name, phase string) error {
	return r.do(ctx, "PUT", "/force", forceBody{namespace, name, phase}, nil)
}

func (r *Remote) Deny(ctx context.Context, rules ...Rule) error {
	return r.do(ctx, "PUT", "/deny", rules, nil)
}

func (r *Remote) SetBackend(ctx context.Context, namespace, vmi, hostPort string) error {
	return r.do(ctx, "PUT", "/backend", backendBody{namespace, vmi, hostPort}, nil)
}

func (r *Remote) SetPace(ctx context.Context, pace time.Duration) error {
	return r.do(ctx, "PUT", "/pace", paceBody{pace}, nil)
}

func (r *Remote) ExpireTokens(ctx context.Context) error {
	return r.do(ctx, "POST", "/tokens/expire", nil, nil)
}

func (r *Remote) TrimHistory(ctx context.Context) error {
	return r.do(ctx, "POST", "/history/trim", nil, nil)
}

func (r *Remote) Counters(ctx context.Context) (out Counters, err error) {
	err = r.do(ctx, "GET", "/counters", nil, &out)
	return out, err
}

func (r *Remote) Volumes(ctx context.Context) (out []Volume, err error) {
	err = r.do(ctx, "GET", "/volumes", nil, &out)
	return out, err
}

// Volume finds the bytes behind a claim.
func (r *Remote) Volume(ctx context.Context, namespace, claim string) (Volume, error) {
	all, err := r.Volumes(ctx)
	if err != nil {
		return Volume{}, err
	}
	for _, v := range all {
		if v.Namespace == namespace && v.Claim == claim {
			return v, nil
		}
	}
	return Volume{}, fmt.Errorf("look up volume: there is no bound claim %s/%s", namespace, claim)
}

// Guest says how far the guest of a VMI came; false means that it does not run.
func (r *Remote) Guest(ctx context.Context, namespace, vmi string) (GuestState, bool, error) {
	var b guestBody
	err := r.do(ctx, "GET", "/guest?"+url.Values{"namespace": {namespace}, "vmi": {vmi}}.Encode(), nil, &b)
	return b.GuestState, b.Running, err
}

func (r *Remote) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("control cluster: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, body)
	if err != nil {
		return fmt.Errorf("control cluster: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	resp, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("control cluster: %w", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("control cluster: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("control cluster: %s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(raw))
	}
	return decodeInto(raw, out)
}
