package kubevirt

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"landfall/engine/fault"
)

var forwardID atomic.Int64

// forward opens one connection to a pod's port through the API server. No port is opened on this host.
func (t *Target) forward(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	doing := fmt.Sprintf("forward to pod %s/%s", namespace, pod)
	d, err := t.forwardDialer(namespace, pod)
	if err != nil {
		return nil, classify(doing, err)
	}
	type opened struct {
		conn httpstream.Connection
		err  error
	}
	ch := make(chan opened, 1)
	go func() {
		c, _, err := d.Dial(portforward.PortForwardProtocolV1Name)
		ch <- opened{c, err}
	}()
	var o opened
	select {
	case o = <-ch:
	case <-ctx.Done():
		go func() { // the dialer knows no context: what it brings too late is closed
			if late := <-ch; late.conn != nil {
				_ = late.conn.Close()
			}
		}()
		return nil, classify(doing, ctx.Err())
	}
	if o.err != nil {
		return nil, classify(doing, o.err)
	}
	f, err := streams(o.conn, port)
	if err != nil {
		_ = o.conn.Close()
		return nil, classify(doing, err)
	}
	f.remote = doing
	return f, nil
}

func (t *Target) forwardDialer(namespace, pod string) (httpstream.Dialer, error) {
	cfg := rest.CopyConfig(t.config)
	cfg.Timeout = 0 // a delivery may take hours
	u := t.core.RESTClient().Post().Namespace(namespace).Resource("pods").Name(pod).SubResource("portforward").URL()
	rt, upgrader, err := spdy.RoundTripperFor(cfg)
	if err != nil {
		return nil, err
	}
	old := spdy.NewDialer(upgrader, &http.Client{Transport: rt}, http.MethodPost, u)
	tunnel, err := portforward.NewSPDYOverWebsocketDialer(u, cfg)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialer(tunnel, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

func streams(c httpstream.Connection, port int) (*forwarded, error) {
	h := http.Header{}
	h.Set(corev1.StreamType, corev1.StreamTypeError)
	h.Set(corev1.PortHeader, strconv.Itoa(port))
	h.Set(corev1.PortForwardRequestIDHeader, strconv.FormatInt(forwardID.Add(1), 10))
	errs, err := c.CreateStream(h)
	if err != nil {
		return nil, err
	}
	_ = errs.Close() // nothing is written to it
	h.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := c.CreateStream(h)
	if err != nil {
		return nil, err
	}
	f := &forwarded{Stream: data, conn: c}
	go f.watch(errs)
	return f, nil
}

// forwarded is a stream through the API server as a connection.
type forwarded struct {
	httpstream.Stream
	conn   httpstream.Connection
	remote string
	once   sync.Once
	failed atomic.Pointer[error]
}

// watch waits for the far end's word that the port cannot be reached.
func (f *forwarded) watch(errs httpstream.Stream) {
	b, _ := io.ReadAll(io.LimitReader(errs, 4096))
	if len(b) == 0 {
		return
	}
	err := fault.Newf(fault.Transient, fault.Unreachable, "%s: %s", f.remote, bounded(string(b), 512))
	f.failed.Store(&err)
	_ = f.Close()
}

func (f *forwarded) because(err error) error {
	if why := f.failed.Load(); why != nil && err != nil {
		return *why
	}
	return err
}

func (f *forwarded) Read(p []byte) (int, error) {
	n, err := f.Stream.Read(p)
	return n, f.because(err)
}

func (f *forwarded) Write(p []byte) (int, error) {
	n, err := f.Stream.Write(p)
	return n, f.because(err)
}

func (f *forwarded) Close() (err error) {
	f.once.Do(func() {
		_ = f.Stream.Reset()
		err = f.conn.Close()
	})
	return err
}

func (f *forwarded) LocalAddr() net.Addr              { return &net.UnixAddr{Name: "landfall", Net: "portforward"} }
func (f *forwarded) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: f.remote, Net: "portforward"} }
func (f *forwarded) SetDeadline(time.Time) error      { return nil }
func (f *forwarded) SetReadDeadline(time.Time) error  { return nil }
func (f *forwarded) SetWriteDeadline(time.Time) error { return nil }
