package esxsim

import (
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/vim25/soap"
)

// serveFolder is a host's file access: /folder/PATH?dcPath=DC&dsName=DATASTORE.
func (s *Server) serveFolder(w http.ResponseWriter, r *http.Request) {
	parallel := s.counters.enter()
	b := &body{ResponseWriter: w, server: s, request: r}
	defer func() { s.counters.leave(b.status) }()
	if s.cfg.MaxFolder > 0 && parallel > s.cfg.MaxFolder {
		b.Header().Set("Retry-After", "1")
		http.Error(b, "too many requests at a time", http.StatusServiceUnavailable)
		return
	}
	if !s.admitted(b, r) {
		return
	}
	b.fault, b.cleared = s.script.http(r.Method, r.URL.Path)
	if !s.sleepRequest(r, b.fault.delay()) {
		return
	}
	if b.fault.answer(b) {
		return
	}
	st, file, err := s.locate(r)
	if err != nil {
		http.Error(b, err.Error(), http.StatusNotFound)
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if st == nil {
			s.listStores(b)
			return
		}
		s.serveFile(b, r, st, file)
	case http.MethodPut:
		s.putFile(b, r, st, file)
	default:
		http.Error(b, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// admitted checks the session cookie, or else basic authentication, which
// opens a session of its own on every request that does not send its cookie.
func (s *Server) admitted(w http.ResponseWriter, r *http.Request) bool {
	if alive, _ := s.apiSession(r); alive != nil {
		return true
	}
	user, password, ok := r.BasicAuth()
	if ok && s.sessions.check(user, password) == nil {
		if s.sessions.full() {
			http.Error(w, errTooMany.Error(), http.StatusServiceUnavailable)
			return false
		}
		n := s.sessions.add(uuid.NewString(), false)
		http.SetCookie(w, &http.Cookie{Name: soap.SessionCookieName, Value: n.id, Path: "/", HttpOnly: true, Secure: true})
		return true
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="VMware HTTP server"`)
	http.Error(w, "unauthorized", http.StatusUnauthorized)
	return false
}

// locate finds the datastore and the file that a request names.
func (s *Server) locate(r *http.Request) (*store, string, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, "", errors.New("bad query")
	}
	file, dc, ds := strings.TrimPrefix(r.URL.Path, "/folder"), q.Get("dcPath"), q.Get("dsName")
	if s.cfg.DecodeTwice {
		for _, p := range []*string{&file, &dc, &ds} {
			if *p, err = url.QueryUnescape(*p); err != nil {
				return nil, "", errors.New("bad encoding")
			}
		}
	}
	if strings.TrimPrefix(dc, "/") != s.dc.Name {
		return nil, "", fmt.Errorf("datacenter %q not found", dc)
	}
	file = strings.TrimPrefix(file, "/")
	if ds == "" && file == "" {
		return nil, "", nil
	}
	st := s.store(ds)
	if st == nil {
		return nil, "", fmt.Errorf("datastore %q not found", ds)
	}
	return st, file, nil
}

func (s *Server) serveFile(b *body, r *http.Request, st *store, file string) {
	f, err := openIn(st.root, file)
	if errors.Is(err, fs.ErrNotExist) {
		http.Error(b, "not found", http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(b, "cannot open", http.StatusInternalServerError)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		http.Error(b, "cannot open", http.StatusInternalServerError)
		return
	}
	if info.IsDir() {
		listFolder(b, r, f)
		return
	}
	if s.held(st, file) {
		http.Error(b, "the file is locked", http.StatusInternalServerError)
		return
	}
	content, err := newExtentReader(f)
	if err != nil {
		http.Error(b, "cannot read", http.StatusInternalServerError)
		return
	}
	if b.fault != nil && b.fault.IgnoreRange {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	b.Header().Set("Content-Type", "application/octet-stream")
	b.counts = s.fileCounters(st, file)
	b.get = r.Method == http.MethodGet
	defer b.account()
	http.ServeContent(b, r, "", info.ModTime(), content)
	b.finish()
}

// openIn opens a file below root, and never one outside.
func openIn(root *os.Root, file string) (*os.File, error) {
	file = strings.Trim(file, "/")
	if file == "" {
		file = "."
	}
	return root.Open(file)
}

func (s *Server) putFile(b *body, r *http.Request, st *store, file string) {
	if !s.cfg.AllowPut || st == nil || s.held(st, file) || s.diskOf(st, file) != nil {
		http.Error(b, "writing is not allowed", http.StatusForbidden)
		return
	}
	f, err := st.root.OpenFile(strings.Trim(file, "/"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		http.Error(b, "cannot write", http.StatusNotFound)
		return
	}
	defer f.Close()
	if _, err := io.Copy(f, r.Body); err != nil {
		http.Error(b, "cannot write", http.StatusInternalServerError)
		return
	}
	b.WriteHeader(http.StatusCreated)
}

func (s *Server) listStores(w http.ResponseWriter) {
	var names []string
	for _, st := range s.stores {
		names = append(names, st.spec.Name)
	}
	writeIndex(w, "Index of "+s.dc.Name, names, func(n string) string {
		return "/folder?dcPath=" + url.QueryEscape(s.dc.Name) + "&dsName=" + url.QueryEscape(n)
	})
}

func listFolder(w http.ResponseWriter, r *http.Request, f *os.File) {
	entries, err := f.ReadDir(-1)
	if err != nil {
		http.Error(w, "cannot list", http.StatusInternalServerError)
		return
	}
	var names []string
	for _, e := range entries {
		n := e.Name()
		if e.IsDir() {
			n += "/"
		}
		names = append(names, n)
	}
	here := strings.TrimPrefix(r.URL.Path, "/folder")
	writeIndex(w, "Index of "+here, names, func(n string) string {
		u := url.URL{Path: path.Join("/folder", here, n), RawQuery: r.URL.RawQuery}
		return u.String()
	})
}

func writeIndex(w http.ResponseWriter, title string, names []string, link func(string) string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	var b strings.Builder
	fmt.Fprintf(&b, "<html><head><title>%[1]s</title></head><body><h1>%[1]s</h1><table>\n", html.EscapeString(title))
	for _, n := range names {
		fmt.Fprintf(&b, "<tr><td><a href=\"%s\">%s</a></td></tr>\n", html.EscapeString(link(n)), html.EscapeString(n))
	}
	b.WriteString("</table></body></html>\n")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = io.WriteString(w, b.String())
}
