package vsphere

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
	"landfall/engine/machine"
)

// lease is the right to read a snapshot's disks as streams. It lives as long as progress is told, here from its making
// to its end.
type lease struct {
	src     *Source
	ref     types.ManagedObjectReference
	urls    []types.HttpNfcLeaseDeviceUrl
	percent atomic.Int32
	stop    context.CancelFunc
	kept    sync.WaitGroup
	lost    chan struct{} // closed when the endpoint no longer knows it
}

var errLeaseLost = fault.Newf(fault.Transient, fault.Conflict, "the host ended the export's lease")

// newLease asks for an export of the snapshot and waits until it is ready.
func (s *Source) newLease(ctx context.Context, snapshot string) (*lease, error) {
	res, err := methods.ExportSnapshot(ctx, s.vim, &types.ExportSnapshot{This: snapshotRef(snapshot)})
	if err != nil {
		return nil, err
	}
	l := &lease{src: s, ref: res.Returnval, lost: make(chan struct{})}
	timeout, err := l.ready(ctx)
	if err != nil {
		l.abort()
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	l.stop = stop
	every := s.opts.LeaseProgress
	if timeout > 0 {
		every = min(every, timeout/4)
	}
	l.kept.Go(func() { l.keep(life, every) })
	return l, nil
}

func (l *lease) ready(ctx context.Context) (timeout time.Duration, err error) {
	for pause := 20 * time.Millisecond; ; pause = min(pause*2, time.Second) {
		content, err := l.src.retrieve(ctx, []types.ManagedObjectReference{l.ref}, []string{"state", "info", "error"})
		if err != nil {
			return 0, err
		}
		if len(content) == 0 {
			return 0, errLeaseLost
		}
		b := bagOf(content[0])
		switch get[types.HttpNfcLeaseState](b, "state") {
		case types.HttpNfcLeaseStateReady:
			info := get[types.HttpNfcLeaseInfo](b, "info")
			l.urls = info.DeviceUrl
			return time.Duration(info.LeaseTimeout) * time.Second, nil
		case types.HttpNfcLeaseStateError:
			if f, ok := b["error"].(types.LocalizedMethodFault); ok && f.Fault != nil {
				return 0, missingError{f}
			}
			return 0, fault.Newf(fault.Transient, ServerError, "the host could not make the export")
		case types.HttpNfcLeaseStateDone:
			return 0, errLeaseLost
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// keep tells progress. One call that fails is not the end: there is time for more.
func (l *lease) keep(ctx context.Context, every time.Duration) {
	t := time.NewTicker(max(every, 10*time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		_, err := methods.HttpNfcLeaseProgress(ctx, l.src.vim, &types.HttpNfcLeaseProgress{This: l.ref, Percent: l.percent.Load()})
		if vimfault.Is(err, &types.ManagedObjectNotFound{}) || vimfault.Is(err, &types.InvalidState{}) || vimfault.Is(err, &types.Timedout{}) {
			close(l.lost)
			return
		}
	}
}

// gone tells whether the endpoint has ended it.
func (l *lease) gone() bool {
	select {
	case <-l.lost:
		return true
	default:
		return false
	}
}

// end gives the lease back: as complete, or as not wanted any more.
func (l *lease) end(complete bool) {
	l.stop()
	l.kept.Wait()
	if l.gone() {
		return
	}
	if complete {
		ctx, cancel := context.WithTimeout(context.Background(), l.src.opts.HeaderTimeout)
		defer cancel()
		_, _ = methods.HttpNfcLeaseComplete(ctx, l.src.vim, &types.HttpNfcLeaseComplete{This: l.ref})
		return
	}
	l.abort()
}

// abort outlives the caller's context: a lease left behind would hold the VM's buffers for five minutes.
func (l *lease) abort() {
	ctx, cancel := context.WithTimeout(context.Background(), l.src.opts.HeaderTimeout)
	defer cancel()
	_, _ = methods.HttpNfcLeaseAbort(ctx, l.src.vim, &types.HttpNfcLeaseAbort{This: l.ref})
}

// controllerOf names a disk's controller as leases do.
var controllerOf = map[machine.Bus][]string{
	machine.SCSI: {"ParaVirtualSCSIController", "VirtualLsiLogicController", "VirtualLsiLogicSASController", "VirtualBusLogicController"},
	machine.SATA: {"VirtualAHCIController", "VirtualSATAController"},
	machine.IDE:  {"VirtualIDEController"},
	machine.NVMe: {"VirtualNVMEController"},
}

// url finds the stream of a disk by its place, never by its order: the lease also lists other files.
func (l *lease) url(d machine.Disk) (types.HttpNfcLeaseDeviceUrl, error) {
	var keys []string
	for _, u := range l.urls {
		keys = append(keys, u.Key)
		last := u.Key[strings.LastIndexByte(u.Key, '/')+1:]
		for _, c := range controllerOf[d.Bus] {
			if isTrue(u.Disk) && last == fmt.Sprintf("%s%d:%d", c, d.BusNumber, d.Unit) {
				return u, nil
			}
		}
	}
	return types.HttpNfcLeaseDeviceUrl{}, fault.Newf(fault.Blocked, fault.Unsupported, "the export offers no stream for %s (it has %s)", d.Where(), strings.Join(keys, ", "))
}

// get opens the stream. A host that vCenter names is trusted by the thumbprint that vCenter gives of it.
func (l *lease) get(ctx context.Context, u types.HttpNfcLeaseDeviceUrl) (*http.Response, error) {
	base := l.src.base()
	at, err := url.Parse(strings.Replace(u.Url, "://*", "://"+base.Host, 1))
	if err != nil || at.Scheme != "https" {
		return nil, fault.Newf(fault.Blocked, fault.Refused, "the export's address %.100q is not one of HTTPS", u.Url)
	}
	client := l.src.disks
	if at.Host != base.Host {
		t := newTransport(&trust{config: pinnedTo(at.Host, u.SslThumbprint)}, l.src.opts, 1)
		t.DisableKeepAlives = true
		client = &http.Client{Transport: t, CheckRedirect: noRedirect}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "landfall")
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, &statusError{code: res.StatusCode, wait: retryAfter(res.Header, l.src.opts.Now())}
	}
	return res, nil
}

// pinnedTo trusts the certificate whose SHA-1 or SHA-256 was told over a connection that is trusted; without one, the
// authorities decide.
func pinnedTo(host, print string) *tls.Config {
	want, err := hex.DecodeString(strings.ReplaceAll(print, ":", ""))
	if err != nil || len(want) != sha1.Size && len(want) != sha256.Size {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, VerifyConnection: func(cs tls.ConnectionState) error {
		if len(cs.PeerCertificates) == 0 {
			return errors.New("the host showed no certificate")
		}
		c := cs.PeerCertificates[0]
		one, long := sha1.Sum(c.Raw), sha256.Sum256(c.Raw)
		if string(want) != string(one[:]) && string(want) != string(long[:]) {
			return &CertificateError{Address: host, Seen: Thumbprint(c), Want: strings.ToLower(hex.EncodeToString(want))}
		}
		return nil
	}}
}
