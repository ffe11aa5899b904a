package delivery

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"landfall/engine/fault"
)

func serve(t *testing.T) *Server {
	t.Helper()
	s, err := Start("127.0.0.1:0", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func client(t *testing.T, ca []byte) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		t.Fatal("no authority in the offer")
	}
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func get(t *testing.T, c *http.Client, method, url, user, password, span string) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	if span != "" {
		req.Header.Set("Range", span)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res, b, err
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(b)
	return b
}

func TestServe(t *testing.T) {
	s := serve(t)
	disk := noise(3<<20 + 17)
	o := s.Offer("uid 1/disk-0", bytes.NewReader(disk), int64(len(disk)))
	other := s.Offer("uid 2/disk-0", bytes.NewReader(noise(10)), 10)
	c, pw := client(t, o.CA), o.Password.Reveal()

	for _, x := range []struct {
		what, method, url, user, password, span string
		status                                  int
		body                                    []byte
	}{
		{"whole", "GET", o.URL, o.Username, pw, "", 200, disk},
		{"range", "GET", o.URL, o.Username, pw, "bytes=1048576-1048585", 206, disk[1048576:1048586]},
		{"last bytes", "GET", o.URL, o.Username, pw, "bytes=-5", 206, disk[len(disk)-5:]},
		{"to the end", "GET", o.URL, o.Username, pw, "bytes=3145728-", 206, disk[3145728:]},
		{"head", "HEAD", o.URL, o.Username, pw, "", 200, nil},
		{"beyond", "GET", o.URL, o.Username, pw, "bytes=99999999-", 416, nil},
		{"no password", "GET", o.URL, "", "", "", 401, nil},
		{"wrong password", "GET", o.URL, o.Username, pw + "x", "", 401, nil},
		{"empty password", "GET", o.URL, o.Username, "", "", 401, nil},
		{"wrong user", "GET", o.URL, "root", pw, "", 401, nil},
		{"another's password", "GET", o.URL, other.Username, other.Password.Reveal(), "", 401, nil},
		{"nothing offered, no password", "GET", o.URL + "x", "", "", "", 401, nil},
		{"nothing offered, a password", "GET", o.URL + "x", o.Username, pw, "", 401, nil},
		{"the root", "GET", s.base + "/", o.Username, pw, "", 401, nil},
		{"path traversal", "GET", s.base + "/uid%201/../../etc/passwd", o.Username, pw, "", 401, nil},
		{"post", "POST", o.URL, o.Username, pw, "", 405, nil},
	} {
		t.Run(x.what, func(t *testing.T) {
			res, b, err := get(t, c, x.method, x.url, x.user, x.password, x.span)
			if err != nil || res.StatusCode != x.status {
				t.Fatalf("status %d, %v; want %d", res.StatusCode, err, x.status)
			}
			if x.body != nil && !bytes.Equal(b, x.body) {
				t.Errorf("%d bytes differ", len(b))
			}
			if x.method == "HEAD" && (res.ContentLength != int64(len(disk)) || res.Header.Get("Accept-Ranges") != "bytes") {
				t.Errorf("length %d, ranges %q", res.ContentLength, res.Header.Get("Accept-Ranges"))
			}
			if x.status >= 400 && bytes.Contains(b, disk[:16]) {
				t.Error("a refusal gives the image away")
			}
		})
	}

	again := s.Offer("uid 1/disk-0", bytes.NewReader(disk[:100]), 100)
	if again.URL != o.URL || again.Password.Reveal() != pw {
		t.Error("offered again, it is another offer")
	}
	s.Withdraw("uid 1/disk-0")
	if res, _, _ := get(t, c, "GET", o.URL, o.Username, pw, ""); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("withdrawn, it answers %d", res.StatusCode)
	}
}

type failing struct{ after int64 }

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.after {
		return 0, errors.New("the disk is broken")
	}
	return len(p), nil
}

func TestReaderThatFailsEndsShort(t *testing.T) {
	s := serve(t)
	o := s.Offer("uid/disk-0", failing{1 << 20}, 4<<20)
	_, b, err := get(t, client(t, o.CA), "GET", o.URL, o.Username, o.Password.Reveal(), "")
	if err == nil {
		t.Errorf("%d of %d bytes look like the whole", len(b), 4<<20)
	}
}

func TestStrangersAuthorityIsNotTrusted(t *testing.T) {
	s, other := serve(t), serve(t)
	o := s.Offer("a", bytes.NewReader(nil), 0)
	res, err := client(t, other.Offer("a", bytes.NewReader(nil), 0).CA).Get(o.URL)
	if err == nil {
		_ = res.Body.Close()
		t.Error("a server of another authority was trusted")
	}
}

func TestCertificateIsRenewed(t *testing.T) {
	var hours atomic.Int64
	start := time.Now()
	i, err := newIdentity("images.example.com", func() time.Time { return start.Add(time.Duration(hours.Load()) * time.Hour) })
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(i.authority)
	var last []byte
	for _, h := range []int64{0, 1, 13, 40, 24 * 365} {
		hours.Store(h)
		c, err := i.certificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		if h == 1 != bytes.Equal(last, c.Certificate[0]) {
			t.Errorf("after %d hours: renewed is wrong", h)
		}
		last = c.Certificate[0]
		leaf, err := x509.ParseCertificate(last)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "images.example.com", CurrentTime: i.now()}); err != nil {
			t.Errorf("after %d hours: %v", h, err)
		}
	}
}

func TestAddressThatCannotBeUsed(t *testing.T) {
	s := serve(t)
	taken := strings.TrimPrefix(s.base, "https://")
	for _, a := range []string{taken, "no-port", ":8443", "127.0.0.1:notaport"} {
		other, err := Start(a, time.Now)
		if err == nil {
			_ = other.Close()
		}
		if fault.ClassOf(err) != fault.Blocked {
			t.Errorf("%s: got %v", a, err)
		}
	}
}

func TestDrainLetsAReaderFinish(t *testing.T) {
	s := serve(t)
	disk := noise(8 << 20)
	o := s.Offer("uid/disk-0", bytes.NewReader(disk), int64(len(disk)))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(o.Username, o.Password.Reveal())
	res, err := client(t, o.CA).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	drained := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		drained <- s.Drain(ctx)
	}()
	got, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Equal(got, disk) {
		t.Errorf("read %d of %d bytes, %v", len(got), len(disk), err)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("no curl on this machine")
	}
	s := serve(t)
	disk := noise(1 << 20)
	o := s.Offer("uid/disk-0", bytes.NewReader(disk), int64(len(disk)))
	dir := t.TempDir()
	ca, netrc, out := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "netrc"), filepath.Join(dir, "out")
	if err := os.WriteFile(ca, o.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(netrc, []byte("machine 127.0.0.1 login "+o.Username+" password "+o.Password.Reveal()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := exec.CommandContext(t.Context(), curl, "-sS", "--fail", "--noproxy", "*", "--cacert", ca, "--netrc-file", netrc, "-o", out, o.URL).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	got, err := os.ReadFile(out)
	if err != nil || !bytes.Equal(got, disk) {
		t.Errorf("curl got %d bytes, %v", len(got), err)
	}
}
