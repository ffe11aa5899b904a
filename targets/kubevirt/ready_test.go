package kubevirt

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// What a server that was just started refuses is asked again; what one that is ready refuses is its word.
func TestRefusalsOfAServerThatWasJustStarted(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(path string, asked int32) int // asked counts requests for the object itself
		want   int
		asked  int32
	}{
		"it is ready and refuses": {
			answer: func(path string, _ int32) int { return map[bool]int{true: 200, false: 403}[path == "/readyz"] },
			want:   403, asked: 2,
		},
		"it is not ready": {
			answer: func(path string, _ int32) int { return map[bool]int{true: 500, false: 403}[path == "/readyz"] },
			want:   503, asked: 1,
		},
		"it knows no roles at all": {
			answer: func(string, int32) int { return 403 },
			want:   503, asked: 1,
		},
		"who asks may not see whether it is ready": {
			answer: func(path string, _ int32) int { return map[bool]int{true: 200, false: 403}[path == "/version"] },
			want:   403, asked: 2,
		},
		"it became ready in between": {
			answer: func(path string, asked int32) int {
				return map[bool]int{true: 403, false: 200}[asked == 1 && path != "/readyz"]
			},
			want: 200, asked: 2,
		},
		"it is gone again": {
			answer: func(path string, _ int32) int { return map[bool]int{true: 0, false: 403}[path == "/readyz"] },
			want:   503, asked: 1,
		},
		"no refusal": {answer: func(string, int32) int { return 404 }, want: 404, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer token" || r.Header.Get("Impersonate-User") != "migrator" {
					t.Errorf("%s as %v", r.URL, r.Header)
				}
				if r.URL.Path == "/object" {
					asked.Add(1)
					if b, err := io.ReadAll(r.Body); string(b) != "what is sent" || r.URL.RawQuery != "dryRun=All" {
						t.Errorf("%s: %q, %v", r.URL, b, err)
					}
				}
				code := c.answer(r.URL.Path, asked.Load())
				if code == 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(code)
				fmt.Fprintf(w, `{"kind": "Status", "message": "forbidden: \"said\""}`)
			}))
			defer s.Close()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/object?dryRun=All", strings.NewReader("what is sent"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer token")
			r.Header.Set("Impersonate-User", "migrator")
			a, err := settled{http.DefaultTransport}.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Body.Close()
			b, err := io.ReadAll(a.Body)
			if a.StatusCode != c.want || asked.Load() != c.asked || err != nil || !strings.Contains(string(b), `said`) {
				t.Errorf("%d after %d requests, want %d after %d: %s, %v", a.StatusCode, asked.Load(), c.want, c.asked, b, err)
			}
			if a.StatusCode == http.StatusServiceUnavailable && (a.Header.Get("Retry-After") != "1" || !strings.Contains(string(b), "just started")) {
				t.Errorf("%v: %s", a.Header, b)
			}
		})
	}
}
