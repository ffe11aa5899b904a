package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/pprof"

	"golang.org/x/sync/errgroup"

	"landfall/engine/fault"
	"landfall/engine/transfer"
	"landfall/sources"
)

// client is our side of the measurement.
type client struct {
	url, ca, profile string
	streams          int
}

func (c client) disk(ctx context.Context) (*rangeDisk, error) {
	b, err := os.ReadFile(c.ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b)
	d := &rangeDisk{url: c.url, streams: c.streams, http: &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots},
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
		MaxIdleConnsPerHost: c.streams,
		DialContext:         dial,
		DisableCompression:  true,
	}}}
	res, err := d.get(ctx, http.MethodHead, 0, 0)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	d.size = res.ContentLength
	return d, nil
}

// copy fetches the disk with digests, synced.
func (c client) copy(ctx context.Context, out string, extents []sources.Extent) error {
	if c.profile != "" {
		f, err := os.Create(c.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	d, err := c.disk(ctx)
	if err != nil {
		return err
	}
	ledger, err := os.OpenFile(out+".ledger", os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer ledger.Close()
	res, err := transfer.Copy(ctx, transfer.Job{
		Disk: d, Path: out, Ledger: fileLedger{ledger}, Extents: extents, Throttle: new(transfer.Throttle),
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(res.Figures)
}

// floor reads the whole disk to nowhere.
func (c client) floor(ctx context.Context) error {
	d, err := c.disk(ctx)
	if err != nil {
		return err
	}
	const segment = 32 << 20
	offsets := make(chan int64, d.size/segment+1)
	for off := int64(0); off < d.size; off += segment {
		offsets <- off
	}
	close(offsets)
	g, ctx := errgroup.WithContext(ctx)
	for range c.streams {
		g.Go(func() error {
			buf := make([]byte, 1<<20)
			for off := range offsets {
				body, err := d.Open(ctx, off, min(segment, d.size-off))
				if err != nil {
					return err
				}
				for err == nil {
					_, err = body.Read(buf)
				}
				_ = body.Close()
				if !errors.Is(err, io.EOF) {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// rangeDisk is a disk behind HTTPS ranges.
type rangeDisk struct {
	url     string
	http    *http.Client
	size    int64
	streams int
}

func (d *rangeDisk) get(ctx context.Context, method string, offset, length int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, d.url, nil)
	if err != nil {
		return nil, err
	}
	want := http.StatusOK
	if length > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
		want = http.StatusPartialContent
	}
	res, err := d.http.Do(req)
	if err != nil {
		return nil, fault.New(fault.Transient, fault.Unreachable, err)
	}
	if res.StatusCode != want {
		_ = res.Body.Close()
		return nil, fault.Newf(fault.Transient, fault.Refused, "the server answered %s", res.Status)
	}
	return res, nil
}

func (d *rangeDisk) Reader() string { return "range" }
func (d *rangeDisk) Size() int64    { return d.size }
func (d *rangeDisk) Streams() int   { return d.streams }
func (d *rangeDisk) Close() error   { return nil }

func (d *rangeDisk) Open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	res, err := d.get(ctx, http.MethodGet, offset, length)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

func (d *rangeDisk) Allocated(context.Context) ([]sources.Extent, error) {
	return nil, fault.Newf(fault.Blocked, fault.Unsupported, "not told")
}

// fileLedger appends to a file and syncs it, as a database commit does.
type fileLedger struct{ f *os.File }

func (fileLedger) Load(context.Context) ([]transfer.Chunk, error) { return nil, nil }

func (l fileLedger) Record(_ context.Context, chunks []transfer.Chunk) error {
	var b []byte
	for _, c := range chunks {
		b = fmt.Appendf(b, "%d %s\n", c.Index, c.Sum)
	}
	if _, err := l.f.Write(b); err != nil {
		return err
	}
	return l.f.Sync()
}

func (l fileLedger) Forget(_ context.Context, chunks []int64) error {
	var b []byte
	for _, i := range chunks {
		b = fmt.Appendf(b, "%d -\n", i)
	}
	if _, err := l.f.Write(b); err != nil {
		return err
	}
	return l.f.Sync()
}

// dial makes connections that take much from the socket at once: TLS would ask for one record of 16 KiB after another,
// which costs a fifth more CPU.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &gulper{conn, bufio.NewReaderSize(conn, 512<<10)}, nil
}

type gulper struct {
	net.Conn
	r *bufio.Reader
}

func (g *gulper) Read(p []byte) (int, error) { return g.r.Read(p) }
