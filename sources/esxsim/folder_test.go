package esxsim_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vmdk"

	"landfall/sources/esxsim"
)

func TestRanges(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.Off)}})
	h, u := plain(t), folderURL(s, "datastore1", "web/web-flat.vmdk")
	if a := fetch(t, s, h, http.MethodHead, u, ""); a.StatusCode != 200 || a.ContentLength != 64*mib {
		t.Errorf("HEAD: %s, %d bytes", a.Status, a.ContentLength)
	}
	for _, c := range []struct {
		name, ask      string
		status         int
		offset, length int64
		contentRange   string
	}{
		{"probe", "0-0", 206, 0, 1, "bytes 0-0/67108864"},
		{"across data and hole", "3145000-3147000", 206, 3145000, 2001, "bytes 3145000-3147000/67108864"},
		{"hole", "10485760-11534335", 206, 10 * mib, mib, "bytes 10485760-11534335/67108864"},
		{"to the end", "67107000-", 206, 67107000, 1864, "bytes 67107000-67108863/67108864"},
		{"last bytes", "-100", 206, 64*mib - 100, 100, "bytes 67108764-67108863/67108864"},
		{"longer than the file", "67108863-99999999", 206, 64*mib - 1, 1, "bytes 67108863-67108863/67108864"},
		{"no range", "", 200, 0, 64 * mib, ""},
	} {
		a := fetch(t, s, h, http.MethodGet, u, c.ask)
		if a.err != nil || a.StatusCode != c.status || int64(len(a.data)) != c.length || a.Header.Get("Content-Range") != c.contentRange {
			t.Errorf("%s: %s, %d bytes, Content-Range %q, %v", c.name, a.Status, len(a.data), a.Header.Get("Content-Range"), a.err)
			continue
		}
		sameBytes(t, a.data, c.offset)
	}
	if a := fetch(t, s, h, http.MethodGet, u, "67108864-"); a.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("behind the end: %s", a.Status)
	}
	if v := fetch(t, s, h, http.MethodGet, u, "0-0").Proto; v != "HTTP/1.1" {
		t.Errorf("speaks %s", v)
	}
}

func TestDescriptor(t *testing.T) {
	vm := web(esxsim.Off)
	vm.Disks[0].Extent = "naa.600601 object+1.bin"
	s := start(t, esxsim.Config{VMs: []esxsim.VM{vm}})
	a := fetch(t, s, plain(t), http.MethodGet, folderURL(s, "datastore1", "web/web.vmdk"), "")
	d, err := vmdk.ParseDescriptor(strings.NewReader(string(a.data)))
	if err != nil {
		t.Fatal(err)
	}
	if d.Type != "vmfs" || len(d.Extent) != 1 || d.Extent[0].Type != "VMFS" || d.Extent[0].Size != 64*mib/512 || d.Extent[0].Info != "naa.600601 object+1.bin" || d.DDB["thinProvisioned"] != "1" {
		t.Fatalf("descriptor: %+v\n%s", d, a.data)
	}
	if a := fetch(t, s, plain(t), http.MethodGet, folderURL(s, "datastore1", "web/web-flat.vmdk"), ""); a.StatusCode != http.StatusNotFound {
		t.Errorf("guessed extent: %s", a.Status)
	}
	b := fetch(t, s, plain(t), http.MethodGet, folderURL(s, "datastore1", "web/"+d.Extent[0].Info), "0-4095")
	if b.StatusCode != http.StatusPartialContent {
		t.Fatalf("named extent: %s", b.Status)
	}
	sameBytes(t, b.data, 0)
}

func TestFolderErrors(t *testing.T) {
	dir := t.TempDir()
	s := start(t, esxsim.Config{Dir: dir, VMs: []esxsim.VM{web(esxsim.Off)}})
	if err := os.WriteFile(filepath.Join(dir, "datastores", "outside"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := plain(t)
	with := func(change func(url.Values, *url.URL)) *url.URL {
		u := folderURL(s, "datastore1", "web/web.vmdk")
		q := u.Query()
		change(q, u)
		u.RawQuery = q.Encode()
		return u
	}
	for name, c := range map[string]struct {
		u      *url.URL
		method string
		status int
	}{
		"missing file":      {folderURL(s, "datastore1", "web/none.vmdk"), "GET", 404},
		"missing datastore": {with(func(q url.Values, _ *url.URL) { q.Set("dsName", "other") }), "GET", 404},
		"no datacenter":     {with(func(q url.Values, _ *url.URL) { q.Del("dcPath") }), "GET", 404},
		"other datacenter":  {with(func(q url.Values, _ *url.URL) { q.Set("dcPath", "DC0") }), "GET", 404},
		"out of the store":  {with(func(_ url.Values, u *url.URL) { u.Path = "/folder/web/../../outside" }), "GET", 500},
		"write":             {folderURL(s, "datastore1", "web/web-flat.vmdk"), "PUT", 403},
		"delete":            {folderURL(s, "datastore1", "web/web-flat.vmdk"), "DELETE", 405},
	} {
		if a := fetch(t, s, h, c.method, c.u, ""); a.StatusCode != c.status {
			t.Errorf("%s: %s, want %d", name, a.Status, c.status)
		}
	}
	wrong, _ := http.NewRequest(http.MethodGet, folderURL(s, "datastore1", "web/web.vmdk").String(), nil)
	wrong.SetBasicAuth("root", "wrong")
	res, err := h.Do(wrong)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized || s.Counters().FailedLogins != 1 {
		t.Errorf("wrong password: %s, counted %d", res.Status, s.Counters().FailedLogins)
	}
	a := fetch(t, s, h, http.MethodGet, folderURL(s, "datastore1", "web"), "")
	if a.StatusCode != 200 || !strings.Contains(string(a.data), "web-flat.vmdk") {
		t.Errorf("folder: %s %s", a.Status, a.data)
	}
}

// One login by the API opens the files too, and one cookie serves everything.
func TestFolderByCookie(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.Off)}})
	c := login(t, s)
	u := folderURL(s, "datastore1", "web/web-flat.vmdk")
	req, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=0-9")
	var got []byte
	err = c.Client.Client.Do(t.Context(), req, func(res *http.Response) error {
		if res.StatusCode != http.StatusPartialContent {
			t.Errorf("answer: %s", res.Status)
		}
		got, err = io.ReadAll(res.Body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sameBytes(t, got, 0)
	first := fetch(t, s, plain(t), http.MethodGet, u, "0-0")
	for _, k := range first.Cookies() {
		if k.Name == soap.SessionCookieName {
			again, _ := http.NewRequest(http.MethodHead, u.String(), nil)
			again.AddCookie(k)
			res, err := plain(t).Do(again)
			if err != nil || res.StatusCode != 200 {
				t.Fatalf("with the cookie of basic authentication: %v %v", res, err)
			}
			res.Body.Close()
			return
		}
	}
	t.Fatal("basic authentication opened no session")
}

func TestFolderNames(t *testing.T) {
	store := "data + 100% [1]"
	names := []string{"web 01", "a+b", "a[b]c", "100%", "50%25", "Käse-Ω", "a&b=c;d", "q?x#y", "bidi\u202eb", "x/y"}
	for mode, twice := range map[string]bool{"encoded once": false, "encoded twice": true} {
		t.Run(mode, func(t *testing.T) {
			cfg := esxsim.Config{DecodeTwice: twice, Datastores: []esxsim.Datastore{{Name: store}}}
			for _, n := range names {
				cfg.VMs = append(cfg.VMs, esxsim.VM{Name: n, Disks: []esxsim.Disk{{Size: mib, Contents: esxsim.Contents{Seed: 7, Ranges: []esxsim.Range{{Length: 4096}}}}}})
			}
			s := start(t, cfg)
			h := plain(t)
			for _, n := range names {
				n = strings.ReplaceAll(n, "/", "_")
				file := n + "/" + n + "-flat.vmdk"
				u := folderURL(s, store, file)
				if twice {
					u.Path = "/folder/" + url.PathEscape(n) + "/" + url.PathEscape(n+"-flat.vmdk")
					u.Path = strings.ReplaceAll(u.Path, "+", "%2B")
					u.RawQuery = url.Values{"dcPath": {"ha-datacenter"}, "dsName": {url.QueryEscape(store)}}.Encode()
				}
				a := fetch(t, s, h, http.MethodGet, u, "0-4095")
				if a.StatusCode != http.StatusPartialContent {
					t.Errorf("%q: %s for %s", n, a.Status, u)
					continue
				}
				sameBytes(t, a.data, 0)
			}
			u := folderURL(s, store, "a+b/a+b-flat.vmdk")
			if twice {
				if a := fetch(t, s, h, http.MethodGet, u, "0-0"); a.StatusCode != http.StatusNotFound {
					t.Errorf("encoded once where twice is needed: %s", a.Status)
				}
			}
		})
	}
}

func TestParallelCap(t *testing.T) {
	s := start(t, esxsim.Config{MaxFolder: 2, VMs: []esxsim.VM{web(esxsim.Off)}})
	if err := s.FailHTTP(esxsim.HTTPFault{Delay: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	h, u := plain(t), folderURL(s, "datastore1", "web/web-flat.vmdk")
	var wg sync.WaitGroup
	statuses := make(chan int, 5)
	for range 5 {
		wg.Go(func() { statuses <- fetch(t, s, h, http.MethodGet, u, "0-0").StatusCode })
	}
	wg.Wait()
	close(statuses)
	n := map[int]int{}
	for st := range statuses {
		n[st]++
	}
	if n[206] != 2 || n[503] != 3 {
		t.Errorf("answers: %v", n)
	}
}
