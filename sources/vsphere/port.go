package vsphere

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"landfall/sources"
)

// dialPatience is how long a port may take to answer.
const dialPatience = 3 * time.Second

// proof makes a connection of its own to the endpoint and tells how it proved itself. Behind a proxy, what the session's
// connections saw stands for it.
func (s *Source) proof(ctx context.Context) sources.Certificate {
	c := sources.Certificate{Seen: s.trust.fingerprint(), Wanted: s.trust.want}
	if !s.proxied() {
		ctx, cancel := context.WithTimeout(ctx, s.opts.DialTimeout)
		defer cancel()
		u := s.base()
		d := tls.Dialer{Config: s.trust.config.Clone()}
		conn, err := d.DialContext(ctx, "tcp", dialAddress(&u))
		if err == nil {
			_ = conn.Close()
			c.Seen = s.trust.fingerprint()
		} else {
			var own *CertificateError
			if e := classifyTLS(err, s.host); e != nil && errors.As(e, &own) {
				c.Seen, c.Failure = own.Seen, own.Error()
				return c
			}
		}
	}
	if leaf := s.trust.leaf.Load(); leaf != nil {
		c.Expires = leaf.NotAfter
	}
	return c
}

// proxied tells whether the endpoint is reached through a proxy, so that a port says nothing when it is dialled.
func (s *Source) proxied() bool {
	u := s.base()
	via, err := http.ProxyFromEnvironment(&http.Request{URL: &u})
	return err == nil && via != nil
}

// ports dials what the readers use, and what is asked about when a reader is chosen.
func (s *Source) ports(ctx context.Context, host types.ManagedObjectReference) ([]sources.Port, error) {
	if s.proxied() {
		return nil, errors.New("it is reached through a proxy, so that its ports cannot be dialled from here")
	}
	base := s.base()
	api := sources.Port{Address: dialAddress(&base), For: "API, reader folder"}
	at := base.Hostname()
	ports := []sources.Port{api}
	if s.session.vcenter {
		if content, err := s.retrieve(ctx, []types.ManagedObjectReference{host}, []string{"name"}); err == nil && len(content) == 1 {
			at = shown(get[string](bagOf(content[0]), "name"))
		}
		ports = append(ports, sources.Port{Address: net.JoinHostPort(at, "443"), For: "reader export", Warm: true})
	} else {
		ports[0].For += ", reader export"
	}
	needed := len(ports)
	nfc := sources.Port{Address: net.JoinHostPort(at, "902"), For: "readers of VMware's disk library, behind nbd"}
	ports = append(ports, nfc, sources.Port{Address: net.JoinHostPort(at, "22"), For: "nothing (SSH)"})

	var all sync.WaitGroup
	for i := range ports {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, min(dialPatience, s.opts.DialTimeout))
			defer cancel()
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", ports[i].Address)
			switch {
			case err == nil:
				_ = conn.Close()
			case i < needed:
				ports[i].Failure = err.Error()
			default:
				ports[i].Closed = err.Error()
			}
		})
	}
	all.Wait()
	return ports, ctx.Err()
}
