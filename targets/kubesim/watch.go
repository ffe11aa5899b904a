package kubesim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const bookmarkEvery = 5 * time.Second

// watch streams changes until the client goes, its timeout is over, or the history does not reach back far enough.
func (s *Server) watch(w http.ResponseWriter, r *request) {
	match, err := r.selector()
	if err != nil {
		writeError(w, err)
		return
	}
	from := uint64(0)
	if q := r.query.Get("resourceVersion"); q != "" {
		if from, err = strconv.ParseUint(q, 10, 64); err != nil {
			writeError(w, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version %q: %v", q, err)))
			return
		}
	}
	end := (<-chan time.Time)(nil)
	if q, err := strconv.Atoi(r.query.Get("timeoutSeconds")); err == nil && q > 0 {
		end = time.After(time.Duration(q) * time.Second)
	}
	in := func(k *kind, o object) bool {
		return k == r.kind && (r.namespace == "" || namespace(o) == r.namespace) && match(o)
	}
	out := &stream{w: w, kind: r.kind}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out.flush()
	bookmarks := r.query.Get("allowWatchBookmarks") == "true"
	if from == 0 || r.query.Get("sendInitialEvents") == "true" {
		var all []object
		s.store.view(func(t tx) { all, from = t.list(r.kind, r.namespace), s.store.rv })
		for _, o := range all {
			if match(o) {
				out.send("ADDED", o)
			}
		}
		if r.query.Get("sendInitialEvents") == "true" && bookmarks {
			out.bookmark(from, true)
		}
	}
	tick := time.NewTicker(bookmarkEvery)
	defer tick.Stop()
	for out.err == nil {
		list, upto, news, ok := s.store.since(from)
		if expired := s.faults.watchExpired(r); !ok || expired {
			out.send("ERROR", untyped(statusOf(apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, upto)))))
			return
		}
		for _, c := range list {
			was, is := c.before != nil && in(c.kind, c.before), in(c.kind, c.object)
			switch {
			case c.event == "DELETED" && was, c.event == "MODIFIED" && was && !is:
				out.send("DELETED", c.object)
			case c.event == "ADDED" && is, c.event == "MODIFIED" && is && !was:
				out.send("ADDED", c.object)
			case c.event == "MODIFIED" && is:
				out.send("MODIFIED", c.object)
			}
			from = c.rv
		}
		from = max(from, upto)
		if s.faults.watchCut(r, out.sent) {
			panic(http.ErrAbortHandler)
		}
		select {
		case <-news:
		case <-s.faults.changed():
		case <-tick.C:
			if bookmarks {
				out.bookmark(from, false)
			}
		case <-end:
			return
		case <-r.Context().Done():
			return
		case <-s.ctx.Done():
			return
		}
	}
}

// stream writes the frames of one watch.
type stream struct {
	w    http.ResponseWriter
	kind *kind
	sent int
	err  error
}

func (s *stream) send(event string, o object) {
	if s.err != nil {
		return
	}
	raw, err := json.Marshal(object{"type": event, "object": o})
	if err == nil {
		_, err = s.w.Write(append(raw, '\n'))
	}
	s.err = err
	s.sent++
	s.flush()
}

func (s *stream) bookmark(rv uint64, initial bool) {
	m := object{"resourceVersion": strconv.FormatUint(rv, 10), "creationTimestamp": nil}
	if initial {
		m["annotations"] = object{"k8s.io/initial-events-end": "true"}
	}
	s.send("BOOKMARK", object{"apiVersion": s.kind.apiVersion(), "kind": s.kind.name, "metadata": m})
}

func (s *stream) flush() {
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}
