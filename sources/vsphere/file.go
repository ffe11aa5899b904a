package vsphere

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
)

// place of a file: what the host's file access is asked for, and the VM that it belongs to.
type place struct {
	file       filePath
	datacenter string
	vm         machine.Ref
}

// get asks for a file, or for a range of it, with the session of the API, and gives an answer of 200 or 206. A session
// that ended is renewed once. The caller holds a permit and closes the body.
func (s *Source) get(ctx context.Context, p place, span string) (*http.Response, error) {
	twice := s.twice.Load()
	res, err := s.ask(ctx, p, span, twice)
	if isStatus(err, http.StatusNotFound) && !p.file.plain(p.datacenter) {
		other, oerr := s.ask(ctx, p, span, !twice)
		if oerr == nil {
			s.twice.Store(!twice)
			return other, nil
		}
		if !isStatus(oerr, http.StatusNotFound) {
			res, err = nil, oerr
		}
	}
	if isStatus(err, http.StatusInternalServerError) && s.seenRunning(ctx, p.vm) {
		return nil, runs("the host holds " + p.file.String())
	}
	return res, err
}

func (s *Source) ask(ctx context.Context, p place, span string, twice bool) (*http.Response, error) {
	for again := false; ; again = true {
		if s.session.closed.Load() {
			return nil, errClosed
		}
		seen := s.session.epoch.Load()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "", nil)
		if err != nil {
			return nil, err
		}
		req.URL = p.file.url(s.base(), p.datacenter, twice)
		if span != "" {
			req.Header.Set("Range", span)
		}
		req.Header.Set("User-Agent", "landfall")
		res, err := s.disks.Do(req)
		if err != nil {
			return nil, err
		}
		if res.StatusCode == http.StatusOK || res.StatusCode == http.StatusPartialContent {
			return res, nil
		}
		_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // short error pages leave the connection usable
		_ = res.Body.Close()
		if res.StatusCode == http.StatusUnauthorized && !again {
			if err := s.session.renew(ctx, seen); err != nil {
				return nil, err
			}
			continue
		}
		return nil, &statusError{code: res.StatusCode, wait: retryAfter(res.Header, s.opts.Now())}
	}
}

func isStatus(err error, code int) bool {
	var e *statusError
	return errors.As(err, &e) && e.code == code
}

// seenRunning looks whether the VM is on. A running VM's disk answers with HTTP 500, which is no failure of the host.
// The look outlives a caller that gives up, for a short while.
func (s *Source) seenRunning(ctx context.Context, vm machine.Ref) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, p, err := s.state(ctx, vm)
	return err == nil && p == machine.On
}

// permit waits for one of the source's connections for disks, and gives the way to return it.
func (s *Source) permit(ctx context.Context) (release func(), err error) {
	select {
	case s.permits <- struct{}{}:
		return func() { <-s.permits }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// readDescriptor reads and understands a disk's descriptor.
func (s *Source) readDescriptor(ctx context.Context, p place) (descriptor, error) {
	release, err := s.permit(ctx)
	if err != nil {
		return descriptor{}, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, s.opts.StallTimeout)
	defer cancel()
	res, err := s.get(ctx, p, "")
	if err != nil {
		return descriptor{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, descriptorLimit+1))
	if err != nil {
		return descriptor{}, err
	}
	return parseDescriptor(b)
}

// size asks for the first byte of a file and learns from the answer how long it is, and that ranges are served.
func (s *Source) size(ctx context.Context, p place) (size int64, stamp string, err error) {
	release, err := s.permit(ctx)
	if err != nil {
		return 0, "", err
	}
	defer release()
	res, err := s.get(ctx, p, rangeHeader(0, 1))
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	r, err := partial(res, 0, 1)
	return r.total, strings.TrimSpace(res.Header.Get("Last-Modified") + " " + res.Header.Get("ETag")), err
}

// partial checks that an answer is exactly the range that was asked for.
func partial(res *http.Response, offset, length int64) (byteRange, error) {
	if res.StatusCode != http.StatusPartialContent {
		return byteRange{}, fault.Hint(fault.Newf(fault.Blocked, fault.Unsupported, "the host gives the whole file when asked for a part of it"),
			"look whether a proxy stands between: ranges are needed to resume")
	}
	r, err := parseContentRange(res.Header.Get("Content-Range"))
	if err != nil {
		return r, fault.New(fault.Transient, fault.Damaged, err)
	}
	if r.first != offset || r.last != offset+length-1 || res.ContentLength >= 0 && res.ContentLength != length {
		return r, fault.Newf(fault.Transient, fault.Damaged, "asked for bytes %d to %d, the host gives %d to %d", offset, offset+length-1, r.first, r.last)
	}
	return r, nil
}
