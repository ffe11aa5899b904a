package trace

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// image is a disk image of a size: half of it noise that is the same each time, half of it nothing.
func image(size int) []byte {
	b := make([]byte, size)
	r := rand.NewChaCha8(sha256.Sum256([]byte("trace")))
	_, _ = r.Read(b[:size/2])
	return b
}

// serve offers an image at /disk.img, and at /private.img to those who know the password.
func serve(at string, disk []byte) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", net.JoinHostPort(at, "0"))
	if err != nil {
		return "", nil, fmt.Errorf("serve the image: %w", err)
	}
	mux := http.NewServeMux()
	give := func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "disk.img", time.Unix(0, 0), bytes.NewReader(disk))
	}
	mux.HandleFunc("/disk.img", give)
	mux.HandleFunc("/private.img", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "landfall" || password != "right" {
			w.Header().Set("WWW-Authenticate", `Basic realm="lab"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		give(w, r)
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }()
	return "http://" + l.Addr().String(), func() { _ = s.Close() }, nil
}
