// Package vsphere is the source on VMware's own API: an ESXi host, or a vCenter with its hosts. It reads the disks of
// VMs that are off through the host's file access over HTTPS. It must not know targets, store, engine's tables or the
// console; govmomi's types do not leave it.
package vsphere

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/sources"
)

// Options are for tests and for unusual networks; zero values are the product's.
type Options struct {
	DialTimeout   time.Duration // to connect, and again for TLS; 10 s
	HeaderTimeout time.Duration // until an answer starts; 60 s
	CallTimeout   time.Duration // for one API call; 3 min
	StallTimeout  time.Duration // a disk stream without bytes; 60 s
	KeepAlive     time.Duration // between signs of life of an idle session; 5 min
	LeaseProgress time.Duration // between signs of life of an export; 30 s
	// Again says that a person asks for a password to be tried that was refused before.
	Again bool
	// Now is the clock; time.Now.
	Now func() time.Time
}

func (o Options) defaults() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.DialTimeout, 10*time.Second)
	set(&o.HeaderTimeout, time.Minute)
	set(&o.CallTimeout, 3*time.Minute)
	set(&o.StallTimeout, time.Minute)
	set(&o.KeepAlive, 5*time.Minute)
	set(&o.LeaseProgress, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Source is one ESXi host or vCenter.
type Source struct {
	host    string // as operators know it, for messages
	opts    Options
	vim     *vim25.Client
	session *session
	about   sources.About
	trust   *trust
	nbd     spec.NBD
	disks   *http.Client  // for /folder: same session, own connections
	permits chan struct{} // one for each disk stream
	twice   atomic.Bool   // this release wants names in /folder escaped twice
	api     *http.Transport
	stop    context.CancelFunc
}

var _ sources.Source = (*Source)(nil)

// Dial connects and logs in. The password is looked up from its reference now, and again whenever the session must be
// renewed; it is not kept anywhere else.
func Dial(ctx context.Context, s spec.Source, o Options) (_ sources.Source, err error) {
	o = o.defaults()
	u, err := endpoint(s.Address)
	if err != nil {
		return nil, err
	}
	tr, err := newTrust(u.Host, s.TLS)
	if err != nil {
		return nil, err
	}
	streams := s.MaxConnections
	if streams <= 0 {
		streams = spec.DefaultConnections
	}
	src := &Source{host: u.Host, opts: o, trust: tr, nbd: s.NBD, permits: make(chan struct{}, streams)}
	cookies := newJar()
	src.api = newTransport(tr, o, 4)
	src.disks = &http.Client{Transport: newTransport(tr, o, streams), Jar: cookies, CheckRedirect: noRedirect}

	client := soap.NewClient(u, false)
	client.UserAgent = "landfall"
	client.Client = http.Client{Transport: apiTransport{src.api}, Jar: cookies, CheckRedirect: noRedirect}
	defer func() {
		if err != nil {
			src.api.CloseIdleConnections()
		}
	}()
	src.session = newSession(u.Host, client, cookies, s, o)

	if err := useVersion(ctx, client); err != nil {
		return nil, failed(err, u.Host, "connect to %s", u.Host)
	}
	if src.vim, err = vim25.NewClient(ctx, client); err != nil {
		return nil, failed(err, u.Host, "connect to %s", u.Host)
	}
	src.vim.RoundTripper = src.session
	if err := src.session.open(ctx, src.vim.ServiceContent); err != nil {
		return nil, err
	}
	src.about = src.learn(ctx)
	var life context.Context
	life, src.stop = context.WithCancel(context.Background())
	go src.session.keep(life, src.vim)
	return src, nil
}

// noRedirect: an API that sends us elsewhere is not the one whose certificate was checked.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// useVersion speaks the endpoint's version of the API where that is older than ours: old hosts refuse a newer one.
// An endpoint that does not tell is asked in ours.
func useVersion(ctx context.Context, c *soap.Client) error {
	u := c.URL()
	u.Path = "/sdk/vimServiceVersions.xml"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	res, err := c.Client.Do(req)
	var status *statusError
	if errors.As(err, &status) && status.code < 500 {
		return nil
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var told struct {
		Version string `xml:"namespace>version"`
	}
	if xml.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&told) == nil && told.Version != "" && newer(vim25.Version, told.Version) {
		c.Version = told.Version
	}
	return nil
}

// newer tells whether dotted version a is above b.
func newer(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		var x, y int
		if i < len(as) {
			x, _ = strconv.Atoi(as[i])
		}
		if i < len(bs) {
			y, _ = strconv.Atoi(bs[i])
		}
		if x != y {
			return x > y
		}
	}
	return false
}

// learn makes what About tells. A host has no instance id of its own; its hardware's stands for it.
func (s *Source) learn(ctx context.Context) sources.About {
	a := s.vim.ServiceContent.About
	about := sources.About{
		Product: a.FullName, Version: a.Version, API: a.ApiType, InstanceID: a.InstanceUuid,
		Thumbprint: s.trust.fingerprint(),
	}
	if about.API == hostAgent {
		if about.InstanceID == "" {
			host := types.ManagedObjectReference{Type: "HostSystem", Value: "ha-host"}
			var h mo.HostSystem
			if s.one(ctx, host, []string{"summary.hardware"}, &h) == nil && h.Summary.Hardware != nil {
				about.InstanceID = h.Summary.Hardware.Uuid
			}
		}
		about.ReadOnly = s.licence(ctx)
	}
	return about
}

const hostAgent = "HostAgent"

// About tells what was connected to.
func (s *Source) About() sources.About {
	a := s.about
	a.Thumbprint = s.trust.fingerprint()
	return a
}

// Close ends the session at the endpoint, so that it does not count against its cap.
func (s *Source) Close() error {
	s.stop()
	err := s.session.close()
	s.api.CloseIdleConnections()
	s.disks.CloseIdleConnections()
	return failed(err, s.host, "log out of %s", s.host)
}

// fail is failed with this endpoint's name.
func (s *Source) fail(err error, format string, args ...any) error {
	return failed(err, s.host, format, args...)
}

var errClosed = fault.Newf(fault.Blocked, fault.Interrupted, "the source is closed")

// base is the endpoint's root, for /folder.
func (s *Source) base() url.URL {
	u := *s.session.soap.URL()
	return url.URL{Scheme: u.Scheme, Host: u.Host}
}
