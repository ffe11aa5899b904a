package kubevirt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cdiupload "kubevirt.io/containerized-data-importer-api/pkg/apis/upload/v1beta1"

	"landfall/engine/fault"
	"landfall/engine/secret"
	"landfall/targets"
)

// uploadPath answers when the bytes are written and synced, and leaves what follows to be watched on the volume; the
// other path holds the request until all is done, which proxies on the way cut. It is also the one that says why it refuses.
const uploadPath = "/v1beta1/upload-async"

// settle is how long the other side may take to sync what it was sent before it answers.
const settle = 30 * time.Minute

// Deliver sends the artifact into the volume through CDI's upload proxy.
func (t *Target) Deliver(ctx context.Context, o targets.Owner, v targets.Volume, a targets.Artifact, acked func(int64)) error {
	what := object("datavolume", o.Namespace, v.Name)
	dv, err := t.cdi.DataVolumes(o.Namespace).Get(ctx, v.Name, metav1.GetOptions{})
	if err != nil {
		return classify("look at "+what, err)
	}
	if !ours(dv, o) {
		return notOurs("datavolume", dv, o)
	}
	config, err := t.cdiConfig(ctx)
	if err != nil && fault.ClassOf(err) == fault.Transient {
		return err
	}
	proxy, err := t.endpoint(ctx, config)
	if err != nil {
		return err
	}
	trust, err := t.trust(ctx, proxy, config)
	if err != nil {
		return err
	}
	token, err := t.uploadToken(ctx, o, v)
	if err != nil {
		return err
	}
	d := delivery{proxy: proxy, trust: trust, token: token, now: t.now, stall: t.stall, coding: t.coding(ctx), artifact: a, what: what}
	return write("deliver "+what, func() error { return d.send(ctx, acked) })
}

// uploadToken asks for a token of its own for every try: it lives five minutes.
func (t *Target) uploadToken(ctx context.Context, o targets.Owner, v targets.Volume) (secret.Secret, error) {
	req := &cdiupload.UploadTokenRequest{
		ObjectMeta: metav1.ObjectMeta{Name: v.Name, Namespace: o.Namespace},
		Spec:       cdiupload.UploadTokenRequestSpec{PvcName: v.Name},
	}
	res, err := t.upload.UploadTokenRequests(o.Namespace).Create(ctx, req, metav1.CreateOptions{})
	if err != nil {
		return secret.Secret{}, classify("ask for an upload token for "+object("datavolume", o.Namespace, v.Name), err)
	}
	if res.Status.Token == "" {
		return secret.Secret{}, fault.Newf(fault.Transient, reasonBusy, "CDI gave an empty upload token for %s", v.Name)
	}
	return secret.New(res.Status.Token), nil
}

// coding is zstd where CDI is known to read it.
func (t *Target) coding(ctx context.Context) func(io.Writer) (coder, error) {
	if readsZstd(t.platform(ctx).cdi.Version) {
		return newZstd
	}
	return newGzip
}

// delivery is one try to send one artifact.
type delivery struct {
	proxy    endpoint
	trust    *tls.Config
	token    secret.Secret
	now      func() time.Time
	stall    time.Duration
	coding   func(io.Writer) (coder, error)
	artifact targets.Artifact
	what     string
	progress acknowledged
}

func (d *delivery) send(ctx context.Context, acked func(int64)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, pipe := io.Pipe()
	poured := make(chan error, 1)
	go func() {
		err := d.fill(ctx, pipe)
		if err == nil {
			d.progress.finished()
		}
		poured <- err
		_ = pipe.CloseWithError(err) // nil ends the stream; an error cuts it, so that a part never looks like a whole
	}()
	watching := make(chan struct{})
	go func() { defer close(watching); d.watch(ctx, cancel, acked) }()

	res, err := d.post(ctx, counted{body, &d.progress})
	_ = body.CloseWithError(errAnswered)
	sent := <-poured
	if err == nil {
		err = d.answer(res, sent)
	} else {
		err = d.broken(ctx, err, sent)
	}
	cancel(nil)
	<-watching
	if err == nil {
		acked(d.artifact.Size())
	}
	return err
}

// errAnswered tells the writer that the other side answered before it took everything.
var errAnswered = errors.New("the upload proxy answered before it had everything")

// counted tells what the connection took of the stream.
type counted struct {
	io.ReadCloser
	to *acknowledged
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.to.took(n)
	return n, err
}

// fill writes the stream: raw images compressed on the way, others as they are.
func (d *delivery) fill(ctx context.Context, w io.Writer) error {
	var wire atomic.Int64
	if d.artifact.Format() == "raw" || d.artifact.Format() == "" {
		c, err := d.coding(tee{w, func(n int) { wire.Add(int64(n)) }})
		if err != nil {
			return err
		}
		return pour(ctx, d.artifact, c, func(raw int64) { d.progress.add(wire.Load(), raw) })
	}
	length, size := max(d.artifact.Length(), 1), d.artifact.Size()
	n, err := d.artifact.WriteTo(tee{w, func(n int) {
		sent := wire.Add(int64(n))
		d.progress.add(sent, int64(float64(size)*float64(sent)/float64(length)))
	}})
	if err == nil && n != d.artifact.Length() {
		err = fault.Newf(fault.Blocked, fault.EarlyEnd, "the artifact ended after %d of %d bytes", n, d.artifact.Length())
	}
	return err
}

func (d *delivery) post(ctx context.Context, body io.ReadCloser) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.proxy.base+uploadPath, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = -1
	req.Header.Set("Authorization", "Bearer "+d.token.Reveal())
	req.Header.Set("Content-Type", "application/octet-stream")
	tr := &http.Transport{
		DisableKeepAlives: true, WriteBufferSize: 256 << 10, TLSHandshakeTimeout: 15 * time.Second,
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			plain, err := d.proxy.dial(ctx)
			if err != nil {
				return nil, err
			}
			d.progress.use(plain)
			c := tls.Client(plain, d.trust)
			shake, stop := context.WithTimeout(ctx, 15*time.Second)
			defer stop()
			if err := c.HandshakeContext(shake); err != nil {
				_ = plain.Close()
				return nil, untrusted(d.proxy, err)
			}
			return c, nil
		},
	}
	client := &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client.Do(req)
}

// watch reports what arrived, and ends a delivery that stands still.
func (d *delivery) watch(ctx context.Context, cancel context.CancelCauseFunc, acked func(int64)) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	last := int64(-1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		raw, still, sent := d.progress.total(d.now())
		if raw != last {
			acked(raw)
			last = raw
		}
		limit := d.stall
		if sent {
			limit = max(limit, settle)
		}
		if still > limit {
			cancel(fault.Newf(fault.Transient, fault.Unreachable, "the upload proxy %s took nothing for %s", d.proxy.name, still.Round(time.Second)))
			return
		}
	}
}

// broken says why there is no answer: the artifact's own fault counts first, for the rest follows from it.
func (d *delivery) broken(ctx context.Context, err, sent error) error {
	doing := "send to " + d.what
	if sent != nil && !errors.Is(sent, errAnswered) && !errors.Is(sent, context.Canceled) && !errors.Is(sent, io.ErrClosedPipe) {
		return classify(doing, sent)
	}
	if cause := context.Cause(ctx); cause != nil {
		return classify(doing, cause)
	}
	err = classify(doing+" through "+d.proxy.name, err)
	if fault.Is(err, fault.Unreachable) {
		err = fault.Hint(err, "the connection to the upload proxy %s did not hold; does a firewall, an ingress limit or a proxy stand between?", d.proxy.name)
	}
	return err
}

// answer classes what the proxy said.
func (d *delivery) answer(res *http.Response, sent error) error {
	defer res.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
	said := bounded(string(b), 512)
	if said == "" {
		said = "no words"
	}
	err := fmt.Errorf("send to %s: the upload proxy %s answered %d: %s", d.what, d.proxy.name, res.StatusCode, said)
	blocked := func(reason, hint string) error { return fault.Hint(fault.New(fault.Blocked, reason, err), "%s", hint) }
	switch res.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		if errors.Is(sent, errAnswered) {
			return fault.New(fault.Transient, fault.EarlyEnd, fmt.Errorf("send to %s: %w", d.what, sent))
		}
		return classify("send to "+d.what, sent)
	case http.StatusBadRequest:
		return blocked(fault.NoSpace, "the volume is too small for the image, or the image is refused: the proxy's words say which")
	case http.StatusUnauthorized:
		return fault.Hint(fault.New(fault.Transient, fault.NotAuthenticated, err), "the upload token was refused; the next try asks for a new one. Do the clocks agree?")
	case http.StatusForbidden, http.StatusMethodNotAllowed:
		return blocked(fault.Refused, "something between this host and the upload proxy refuses uploads")
	case http.StatusNotFound:
		return blocked(fault.Unsupported, "what answers is not CDI's upload proxy, or one without asynchronous uploads: check spec.destination.uploadProxy.url")
	case http.StatusRequestEntityTooLarge:
		return blocked(fault.Refused, "an ingress before the upload proxy limits the size of a request (nginx: proxy-body-size): lift the limit, or clear spec.destination.uploadProxy.url to go through the API server")
	case http.StatusConflict:
		return fault.New(fault.Transient, fault.Conflict, err)
	}
	// CDI has no status of its own for a raw image that outgrows its volume: the words of the write are all there is.
	if res.StatusCode == http.StatusInternalServerError && strings.Contains(said, "no space left on device") {
		return blocked(fault.NoSpace, "the volume is too small for the image: a file system keeps a part of the claim for itself. Choose a larger claim or volumeMode Block; if the size is right, the storage behind the class is full")
	}
	t := fault.New(fault.Transient, reasonBusy, err)
	if res.StatusCode < 500 {
		t = fault.New(fault.Transient, "Unknown", err)
	}
	if s, e := strconv.Atoi(strings.TrimSpace(res.Header.Get("Retry-After"))); e == nil && s > 0 {
		t = fault.RetryAfter(t, time.Duration(s)*time.Second)
	}
	return t
}
