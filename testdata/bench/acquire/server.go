package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// serve is the host: it gives the disk over HTTPS with ranges, holes as zeros, until standard input ends. It prints its
// address first, and answers /counts with bytes, requests and new connections since it was last asked.
func serve(dir string) error {
	cert, err := certificate(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return err
	}
	f, err := os.Open(diskPath(dir))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &host{disk: f, size: info.Size()}
	mux := http.NewServeMux()
	mux.HandleFunc("/disk", h.serveDisk)
	mux.HandleFunc("/counts", h.serveCounts)
	srv := &http.Server{
		Handler: mux,
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				h.connections.Add(1)
			}
		},
		TLSConfig:    &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // HTTP/1.1, as ESXi
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("https://" + l.Addr().String())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return srv.ServeTLS(l, "", "")
}

type host struct {
	disk                         *os.File
	size                         int64
	bytes, requests, connections atomic.Int64
}

func (h *host) serveCounts(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, h.bytes.Swap(0), h.requests.Swap(0), h.connections.Swap(0))
}

func (h *host) serveDisk(w http.ResponseWriter, r *http.Request) {
	h.requests.Add(1)
	start, end, status := int64(0), h.size, http.StatusOK
	w.Header().Set("Accept-Ranges", "bytes")
	if spec, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
		a, b, _ := strings.Cut(spec, "-")
		var err error
		if start, err = strconv.ParseInt(a, 10, 64); err != nil || start < 0 || start >= h.size {
			http.Error(w, "bad range", http.StatusRequestedRangeNotSatisfiable)
			return
		}
		if b != "" {
			last, err := strconv.ParseInt(b, 10, 64)
			if err != nil || last < start {
				http.Error(w, "bad range", http.StatusRequestedRangeNotSatisfiable)
				return
			}
			end = min(last+1, h.size)
		}
		status = http.StatusPartialContent
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, end-1, h.size))
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(end-start, 10))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	buf := make([]byte, 128<<10)
	for start < end {
		n, err := h.disk.ReadAt(buf[:min(int64(len(buf)), end-start)], start)
		if n > 0 {
			n, err = w.Write(buf[:n])
			h.bytes.Add(int64(n))
			start += int64(n)
		}
		if err != nil && start < end {
			return // the client went away
		}
	}
}

// certificate makes a certificate for the loopback address and writes it for the clients to trust.
func certificate(path string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "127.0.0.1"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(path, b, 0o600)
}
