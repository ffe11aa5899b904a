package kubesim

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
)

// job is the importer at work on one claim, outside of the store's lock.
type job struct {
	what    gate
	started time.Time
	stop    context.CancelFunc
	have    atomic.Int64
	total   atomic.Int64
	shown   string

	mu   sync.Mutex
	over bool
	err  error
	size int64
}

type jobs struct {
	mu     sync.Mutex
	active map[string]*job // by uid of the claim
	sizes  map[string]int64
}

// work lets the importer do what the script waits for; true means that it is done.
func (s *Server) work(t tx, dv *cdiv1.DataVolume, claim object, what gate) (bool, error) {
	if s.faults.forcedPhase(dv.Namespace, dv.Name) == RestartLoop {
		return false, errors.New("process data: the importer was killed, exit code 137")
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	j := s.jobs.active[uid(claim)]
	if j == nil || j.what != what {
		act, err := s.assign(t, dv, claim, what)
		if err != nil || act == nil {
			return false, err
		}
		ctx, stop := context.WithCancel(s.ctx)
		j = &job{what: what, started: time.Now(), stop: stop}
		s.jobs.active[uid(claim)] = j
		s.wait.Add(1)
		go s.run(ctx, j, act)
		return false, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.over {
		return false, nil
	}
	if j.err != nil {
		delete(s.jobs.active, uid(claim)) // the next attempt begins anew
	}
	if j.size > 0 {
		s.jobs.sizes[uid(claim)] = j.size
	}
	return j.err == nil, j.err
}

func (s *Server) run(ctx context.Context, j *job, act func(context.Context, *job) (int64, error)) {
	defer s.wait.Done()
	defer j.stop()
	size, err := act(ctx, j)
	j.mu.Lock()
	j.over, j.err, j.size = true, err, size
	j.mu.Unlock()
	s.wake()
}

// endTransfer stops whatever still works on a claim that is gone.
func (s *Server) endTransfer(claim string) {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	if j := s.jobs.active[claim]; j != nil {
		j.stop()
		delete(s.jobs.active, claim)
	}
	delete(s.jobs.sizes, claim)
	s.uploads.end(claim)
}

// imageOf notes how large the image was that has arrived.
func (s *Server) imageOf(t tx, claim, run object) {
	s.jobs.mu.Lock()
	size := s.jobs.sizes[uid(claim)]
	s.jobs.mu.Unlock()
	t.edit(&transfers, run, func(c object) { c["image"] = size })
}

// progress is what an import shows while it downloads: nothing for the first pace, as in CDI.
func (s *Server) progress(dv *cdiv1.DataVolume, before string) string {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	claim := s.store.items[&claims][place{dv.Namespace, dv.Name}] // the caller holds the store
	j := s.jobs.active[uid(claim)]
	if j == nil || j.what != fetched || j.total.Load() <= 0 {
		return before
	}
	if s.pacer.passed("progress "+uid(claim), 2) {
		j.shown = fmt.Sprintf("%.2f%%", 100*float64(j.have.Load())/float64(j.total.Load()))
	}
	if j.shown == "" {
		return before
	}
	return j.shown
}

// assign prepares one act of the importer. nil means that it cannot start yet, as a pod whose secret is missing.
func (s *Server) assign(t tx, dv *cdiv1.DataVolume, claim object, what gate) (func(context.Context, *job) (int64, error), error) {
	v := s.volume(t, claim)
	dir := filepath.Dir(v.Path)
	scratchFile, staged := filepath.Join(dir, "scratch.img"), filepath.Join(dir, "staged.img")
	request := requested(dv, v)
	if what == copied {
		if dv.Spec.Source.Blank != nil {
			return func(context.Context, *job) (int64, error) {
				if err := os.WriteFile(v.Path, nil, 0o600); err != nil {
					return 0, fmt.Errorf("process data: %w", err)
				}
				return 0, grow(v.Path, v, request, 0)
			}, nil
		}
		return func(context.Context, *job) (int64, error) {
			size, err := copyFrom(staged, v.Path, convertedPart)
			if err == nil {
				err = grow(v.Path, v, request, size)
			}
			if err != nil {
				return 0, fmt.Errorf("process data: %w", err)
			}
			return size, os.Remove(staged)
		}, nil
	}
	get, err := s.sourceOf(t, dv)
	if err != nil || get == nil {
		return nil, err
	}
	if what == probed {
		return func(ctx context.Context, j *job) (int64, error) {
			body, _, err := get(ctx, true)
			if err != nil {
				return 0, fmt.Errorf("connect to http data source: %w", err)
			}
			defer body.Close()
			if _, err := io.ReadFull(body, make([]byte, 512)); err != nil {
				return 0, fmt.Errorf("process data: unable to read the image header: %w", err)
			}
			return 0, nil
		}, nil
	}
	return func(ctx context.Context, j *job) (int64, error) {
		body, total, err := get(ctx, true)
		if err != nil {
			return 0, fmt.Errorf("connect to http data source: %w", err)
		}
		defer body.Close()
		j.total.Store(total)
		size, err := receive(ctx, &metered{r: body, count: func(n int64) { j.have.Add(n) }}, staged, scratchFile, v.Usable)
		if err != nil {
			return 0, fmt.Errorf("process data: %w", err)
		}
		if err := os.WriteFile(v.Path, nil, 0o600); err != nil {
			return 0, fmt.Errorf("process data: %w", err)
		}
		if err := copyPart(staged, v.Path, 0, int64(float64(size)*convertedPart)); err != nil {
			return 0, fmt.Errorf("process data: %w", err)
		}
		return 0, nil
	}, nil
}

// convertedPart is how much of the image is in the volume when the download is over; an importer that dies then leaves a part.
const convertedPart = 0.97

func requested(dv *cdiv1.DataVolume, v Volume) int64 {
	if dv.Spec.Storage != nil {
		q := dv.Spec.Storage.Resources.Requests[corev1.ResourceStorage]
		return q.Value()
	}
	return v.Capacity
}

// copyFrom copies the part of a file that comes after the given share, and returns the size of the whole.
func copyFrom(from, to string, share float64) (int64, error) {
	st, err := os.Stat(from)
	if err != nil {
		return 0, err
	}
	start := int64(float64(st.Size()) * share)
	return st.Size(), copyPart(from, to, start, st.Size()-start)
}

func copyPart(from, to string, start, length int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	buf := make([]byte, len(zeros))
	for off, end := start, start+length; off < end; {
		n, err := in.ReadAt(buf[:min(int64(len(buf)), end-off)], off)
		if err != nil && err != io.EOF || n == 0 {
			return err
		}
		if string(buf[:n]) != string(zeros[:n]) {
			if _, err := out.WriteAt(buf[:n], off); err != nil {
				return err
			}
		}
		off += int64(n)
	}
	if st, err := out.Stat(); err != nil || st.Size() >= start+length {
		return err
	}
	return out.Truncate(start + length)
}

// fetch opens the source; the caller closes the body.
type fetch func(ctx context.Context, head bool) (io.ReadCloser, int64, error)

// sourceOf reads what the source needs out of the cluster. nil means that a secret or a ConfigMap is not there yet.
func (s *Server) sourceOf(t tx, dv *cdiv1.DataVolume) (fetch, error) {
	src := dv.Spec.Source.HTTP
	var user, password string
	if src.SecretRef != "" {
		secret := t.get(&secrets, dv.Namespace, src.SecretRef)
		if secret == nil {
			return nil, nil
		}
		user, password = plain(secret, "accessKeyId"), plain(secret, "secretKey")
	}
	headers := append([]string{}, src.ExtraHeaders...)
	for _, ref := range src.SecretExtraHeaders {
		secret := t.get(&secrets, dv.Namespace, ref)
		if secret == nil {
			return nil, nil
		}
		for key := range sub(secret, "data") {
			headers = append(headers, plain(secret, key))
		}
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	if src.CertConfigMap != "" {
		cm := t.get(&configmaps, dv.Namespace, src.CertConfigMap)
		if cm == nil {
			return nil, nil
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		for _, v := range sub(cm, "data") {
			text, _ := v.(string)
			pool.AppendCertsFromPEM([]byte(text))
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	client := &http.Client{Transport: transport}
	ask := func(ctx context.Context, method string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, method, src.URL, nil)
		if err != nil {
			return nil, err
		}
		for _, h := range headers {
			if key, value, ok := strings.Cut(h, ":"); ok {
				req.Header.Add(key, strings.TrimSpace(value))
			}
		}
		req.Header.Set("User-Agent", "cdi-golang-importer")
		if user != "" && password != "" {
			req.SetBasicAuth(user, password)
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, fmt.Errorf("HTTP request errored: %w", err)
		}
		if resp.StatusCode != http.StatusOK {
			resp.Body.Close()
			return nil, fmt.Errorf("expected status code %d, got %d. Status: %s", http.StatusOK, resp.StatusCode, resp.Status)
		}
		return resp, nil
	}
	return func(ctx context.Context, head bool) (io.ReadCloser, int64, error) {
		total := int64(0)
		if head { // a source that refuses HEAD is no failure
			if resp, err := ask(ctx, http.MethodHead); err == nil {
				total = resp.ContentLength
				resp.Body.Close()
			}
		}
		resp, err := ask(ctx, http.MethodGet)
		if err != nil {
			return nil, 0, err
		}
		return resp.Body, max(total, resp.ContentLength), nil
	}, nil
}

func plain(secret object, key string) string {
	raw, err := base64.StdEncoding.DecodeString(str(secret, "data", key))
	if err != nil {
		return ""
	}
	return string(raw)
}

// metered counts what is read.
type metered struct {
	r     io.Reader
	count func(int64)
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.count(int64(n))
	return n, err
}
