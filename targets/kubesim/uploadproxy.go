package kubesim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
)

// uploads are the upload servers: one claim takes one stream at a time.
type uploads struct {
	mu     sync.Mutex
	active map[string]context.CancelFunc // by uid of the claim
}

func (u *uploads) begin(claim string, stop context.CancelFunc) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.active[claim] != nil {
		return false
	}
	u.active[claim] = stop
	return true
}

// end stops the stream into a claim, if there is one.
func (u *uploads) end(claim string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if stop := u.active[claim]; stop != nil {
		stop()
		delete(u.active, claim)
	}
}

var bearer = regexp.MustCompile(`(?i)^Bearer\s+([A-Za-z0-9\-._~+/]+)$`)

// uploadProxy is CDI's upload proxy with the upload servers behind it.
func (s *Server) uploadProxy() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "OK") })
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		for _, path := range []string{"upload", "upload-async", "upload-form", "upload-form-async"} {
			mux.HandleFunc("/"+version+"/"+path, s.serveUpload)
		}
	}
	return mux
}

func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	m := bearer.FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	pass, err := s.checkToken(m[1])
	if err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if pass.Operation != "Upload" || pass.Name == "" || pass.Namespace == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	fault := s.faults.take("upload", "upload", pass.Namespace, pass.Name, func(f *Fault) bool { return f.Resource == "upload" })
	if fault == nil {
		fault = &Fault{}
	}
	switch fault.Do {
	case Unauth:
		w.WriteHeader(http.StatusUnauthorized)
		return
	case Unavailable:
		fail(w, http.StatusServiceUnavailable, "%s", fault.Message)
		return
	case Internal:
		fail(w, http.StatusInternalServerError, "Saving stream failed: %s", fault.Message)
		return
	case Slow:
		select {
		case <-time.After(fault.After):
		case <-r.Context().Done():
		}
	}
	v, dv, claim, err := s.awaitUploadServer(r.Context(), pass)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, "%s", err.Error())
		return
	}
	async := strings.HasSuffix(r.URL.Path, "-async")
	if r.Method == http.MethodHead && async {
		return
	}
	if r.Method != http.MethodPost && r.Method != http.MethodPut {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	if !s.uploads.begin(claim, stop) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer s.uploads.end(claim)
	if err := s.save(ctx, r, pass, v, dv, claim, fault); err != nil {
		if errors.Is(err, errCut) {
			panic(http.ErrAbortHandler)
		}
		if errors.Is(err, errTooLarge) {
			fail(w, http.StatusBadRequest, "Saving stream failed: effective image size is larger than the reported available storage: %v", err)
			return
		}
		fail(w, http.StatusInternalServerError, "Saving stream failed: %v", err)
		return
	}
	if fault.Do == Lost {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusOK)
}

func fail(w http.ResponseWriter, code int, format string, args ...any) {
	w.WriteHeader(code)
	fmt.Fprintf(w, format, args...)
}

// awaitUploadServer waits for the upload pod as long as the proxy does: ten paces stand for its ten seconds.
func (s *Server) awaitUploadServer(ctx context.Context, pass ticket) (Volume, *cdiv1.DataVolume, string, error) {
	patience := time.After(max(10*s.cfg.Pace, 100*time.Millisecond))
	for {
		news := s.store.changed()
		v, dv, claim, ready, err := s.uploadServer(pass)
		if err != nil || ready {
			return v, dv, claim, err
		}
		select {
		case <-news:
		case <-patience:
			return v, nil, "", errors.New("timed out waiting for the condition")
		case <-ctx.Done():
			return v, nil, "", ctx.Err()
		}
	}
}

func (s *Server) uploadServer(pass ticket) (v Volume, dv *cdiv1.DataVolume, claim string, ready bool, err error) {
	err = s.store.do(func(t tx) error {
		c := t.get(&claims, pass.Namespace, pass.Name)
		if c == nil {
			return fmt.Errorf("rejecting Upload Request for PVC %s that doesn't exist", pass.Name)
		}
		if _, ok := sub(c, "metadata", "annotations")["cdi.kubevirt.io/storage.upload.target"]; !ok {
			return fmt.Errorf("PVC %s is not an upload target", pass.Name)
		}
		o := t.get(&datavolumes, pass.Namespace, pass.Name)
		run := t.get(&transfers, pass.Namespace, pass.Name)
		if o == nil || run == nil {
			return nil
		}
		if run["received"] == true {
			return fmt.Errorf("rejecting Upload Request for PVC %s that already finished uploading", pass.Name)
		}
		var err error
		if dv, err = typed[cdiv1.DataVolume](o); err != nil {
			return err
		}
		ready = dv.Status.Phase == cdiv1.UploadReady
		if ready {
			v, claim = s.volume(t, c), uid(c)
		}
		return nil
	})
	return v, dv, claim, ready, err
}

var errCut = errors.New("cut by the fault script")

// save puts one stream into the volume. Until it has arrived as a whole, the DataVolume stays ready for another one.
func (s *Server) save(ctx context.Context, r *http.Request, pass ticket, v Volume, dv *cdiv1.DataVolume, claim string, fault *Fault) error {
	body, err := payload(r)
	if err != nil {
		return err
	}
	var seen int64
	stream := &metered{r: &interruptible{ctx, body}, count: func(n int64) {
		seen += n
		s.counters.uploaded(pass.Namespace, pass.Name, n)
	}}
	var in io.Reader = stream
	if fault.Do == Cut {
		in = io.MultiReader(io.LimitReader(stream, fault.Bytes), broken{})
	}
	size, err := receive(ctx, in, v.Path, filepath.Join(filepath.Dir(v.Path), "scratch.img"), v.Usable)
	if err != nil {
		return err
	}
	if fault.Do == Nothing {
		return nil // said to be stored, and the DataVolume stays where it is
	}
	if err := grow(v.Path, v, requested(dv, v), size); err != nil {
		return err
	}
	return s.store.do(func(t tx) error {
		c, run := t.get(&claims, pass.Namespace, pass.Name), t.get(&transfers, pass.Namespace, pass.Name)
		if c == nil || run == nil || uid(c) != claim {
			return errors.New("the claim was deleted meanwhile")
		}
		t.edit(&transfers, run, func(o object) { o["received"], o["image"] = true, size })
		return nil
	})
}

// payload is the body, or the part "file" of a form.
func payload(r *http.Request) (io.Reader, error) {
	if !strings.Contains(r.URL.Path, "-form") {
		return r.Body, nil
	}
	form, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			return nil, fmt.Errorf("the form has no part \"file\": %w", err)
		}
		if part.FormName() == "file" {
			return part, nil
		}
	}
}

// interruptible ends a stream when the pod that reads it is gone.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errCut }
