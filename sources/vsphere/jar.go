package vsphere

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"sync/atomic"
)

// jar keeps the session's cookie for the API and for disks alike, and can forget it: a login that carries the cookie of
// a session that lives is refused with the fault of a wrong password.
type jar struct{ now atomic.Pointer[cookiejar.Jar] }

func newJar() *jar {
	j := &jar{}
	j.forget()
	return j
}

func (j *jar) forget() {
	fresh, _ := cookiejar.New(nil) // never fails without options
	j.now.Store(fresh)
}

// SetCookies is http.CookieJar's.
func (j *jar) SetCookies(u *url.URL, c []*http.Cookie) { j.now.Load().SetCookies(u, c) }

// Cookies is http.CookieJar's.
func (j *jar) Cookies(u *url.URL) []*http.Cookie { return j.now.Load().Cookies(u) }
