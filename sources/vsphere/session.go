package vsphere

import (
	"context"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/singleflight"

	"landfall/engine/fault"
	"landfall/engine/secret"
	"landfall/engine/spec"
)

// session is the login that all calls and all disk streams of a source share. When the endpoint has ended it, the
// first call that notices makes a new one, the others wait for that, and each is done again once.
type session struct {
	host     string
	soap     *soap.Client
	cookies  *jar
	user     string
	password secret.Ref
	opts     Options
	manager  types.ManagedObjectReference
	vcenter  bool
	logins   singleflight.Group
	epoch    atomic.Int64 // raised by every login
	closed   atomic.Bool
}

func newSession(host string, c *soap.Client, cookies *jar, s spec.Source, o Options) *session {
	return &session{host: host, soap: c, cookies: cookies, user: s.Username, password: s.Password, opts: o}
}

// open logs in for the first time.
func (s *session) open(ctx context.Context, content types.ServiceContent) error {
	if content.SessionManager == nil {
		return fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "log in to %s: it has no session manager", s.host), "look whether it is an ESXi host or a vCenter")
	}
	s.manager, s.vcenter = *content.SessionManager, content.About.ApiType != hostAgent
	return s.login(ctx, s.opts.Again)
}

// renew makes a new session unless another call did since the given epoch. All that ask at once share one login, which
// does not end with the caller that happened to start it.
func (s *session) renew(ctx context.Context, seen int64) error {
	if s.closed.Load() {
		return errClosed
	}
	done := s.logins.DoChan("", func() (any, error) {
		if s.epoch.Load() != seen {
			return nil, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.CallTimeout)
		defer cancel()
		// Should the old session live after all, it must not count against the endpoint's cap for another half hour.
		_, _ = methods.Logout(ctx, s.soap, &types.Logout{This: s.manager})
		s.cookies.forget()
		return nil, s.login(ctx, false)
	})
	select {
	case r := <-done:
		return r.Err
	case <-ctx.Done():
		return failed(ctx.Err(), s.host, "log in to %s", s.host)
	}
}

func (s *session) login(ctx context.Context, again bool) error {
	password, err := s.password.Resolve(ctx)
	if err != nil {
		return fault.Hint(fault.New(fault.Blocked, fault.WrongCredentials, err), "set the password's reference so that this process can read it")
	}
	return refusals.try(ctx, s.host, s.user, password, again, s.opts.Now, func() error {
		_, err := methods.Login(ctx, s.soap, &types.Login{This: s.manager, UserName: s.user, Password: password.Reveal(), Locale: "en_US"})
		if err != nil {
			err = failed(err, s.host, "log in to %s as %q", s.host, s.user)
			if s.vcenter && fault.Is(err, fault.WrongCredentials) && !strings.ContainsAny(s.user, `@\`) {
				return fault.Hint(err, "write the user with its domain, as %s@vsphere.local, and check the password; the same password is not tried again", s.user)
			}
			return err
		}
		s.epoch.Add(1)
		return nil
	})
}

// RoundTrip makes one API call within its time, and once more after a new login if the session had ended. An answer of
// NotAuthenticated was given before anything was done, so the call is safe to repeat.
func (s *session) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	if s.closed.Load() {
		return errClosed
	}
	for again := false; ; again = true {
		seen := s.epoch.Load()
		err := s.call(ctx, req, res)
		if !ended(err, res) || again {
			return err
		}
		if err := s.renew(ctx, seen); err != nil {
			return err
		}
		reflect.ValueOf(res).Elem().SetZero() // the old fault would be found in it again
	}
}

func (s *session) call(ctx context.Context, req, res soap.HasFault) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	return s.soap.RoundTrip(ctx, req, res)
}

// ended tells whether the session is gone. A property read may say so per property instead of by a fault.
func ended(err error, res soap.HasFault) bool {
	if err != nil {
		return vimfault.Is(err, &types.NotAuthenticated{})
	}
	if body, ok := res.(*methods.RetrievePropertiesExBody); ok && body.Res != nil && body.Res.Returnval != nil {
		for _, o := range body.Res.Returnval.Objects {
			for _, m := range o.MissingSet {
				if _, ok := m.Fault.Fault.(*types.NotAuthenticated); ok {
					return true
				}
			}
		}
	}
	return false
}

// whole does an operation of several calls, and once more if a new login in its middle took away what the earlier calls
// had made (a view lives and dies with its session).
func (s *session) whole(op func() error) error {
	seen := s.epoch.Load()
	err := op()
	if err != nil && s.epoch.Load() != seen {
		return op()
	}
	return err
}

// keep gives signs of life until ctx ends, so that a session that only reads disks is not ended as idle. What fails here
// is found, and mended, by the next call.
func (s *session) keep(ctx context.Context, c *vim25.Client) {
	tick := time.NewTicker(s.opts.KeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			seen := s.epoch.Load()
			var m mo.SessionManager
			err := retrieveOne(ctx, c, s.manager, []string{"currentSession"}, &m)
			if err == nil && m.CurrentSession == nil {
				_ = s.renew(ctx, seen)
			}
		}
	}
}

// close logs out; a second call does nothing.
func (s *session) close() error {
	if s.closed.Swap(true) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.DialTimeout)
	defer cancel()
	_, err := methods.Logout(ctx, s.soap, &types.Logout{This: s.manager})
	if vimfault.Is(err, &types.NotAuthenticated{}) {
		return nil
	}
	return err
}
