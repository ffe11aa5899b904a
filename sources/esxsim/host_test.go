package esxsim_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"

	"landfall/sources/esxsim"
)

const mib = 1 << 20

// web is a VM with a 64 MiB disk that has data at three places.
func web(power esxsim.Power) esxsim.VM {
	return esxsim.VM{
		Name: "web", Power: power, Hostname: "web.example.org", IPs: []string{"192.0.2.7"}, CPUs: 2, MemoryMiB: 2048,
		Disks: []esxsim.Disk{{Size: 64 * mib, Contents: esxsim.Contents{Seed: 7, Ranges: webData}}},
		NICs:  []esxsim.NIC{{Network: "Production"}},
	}
}

var webData = []esxsim.Range{{Offset: 0, Length: 3*mib + 512}, {Offset: 20 * mib, Length: 4096}, {Offset: 40 * mib, Length: 10 * mib}}

const webExtent = "[datastore1] web/web-flat.vmdk"

func start(t *testing.T, cfg esxsim.Config) *esxsim.Server {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	s, err := esxsim.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func login(t *testing.T, s *esxsim.Server) *govmomi.Client {
	t.Helper()
	c, err := govmomi.NewClient(t.Context(), s.URL(), true)
	if err != nil {
		t.Fatalf("login: %v", err)
	}
	return c
}

// list reads the leaf properties of every VM, by name.
func list(ctx context.Context, c *govmomi.Client, props ...string) (map[string]mo.VirtualMachine, error) {
	v, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Destroy(context.WithoutCancel(ctx)) }()
	var vms []mo.VirtualMachine
	if err := v.Retrieve(ctx, []string{"VirtualMachine"}, append(props, "name"), &vms); err != nil {
		return nil, err
	}
	byName := map[string]mo.VirtualMachine{}
	for _, vm := range vms {
		byName[vm.Name] = vm
	}
	return byName, nil
}

func vmNamed(t *testing.T, c *govmomi.Client, name string) *object.VirtualMachine {
	t.Helper()
	vms, err := list(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	vm, ok := vms[name]
	if !ok {
		t.Fatalf("no vm %q among %d", name, len(vms))
	}
	return object.NewVirtualMachine(c.Client, vm.Self)
}

func properties(t *testing.T, c *govmomi.Client, name string, props ...string) mo.VirtualMachine {
	t.Helper()
	var vm mo.VirtualMachine
	if err := property.DefaultCollector(c.Client).RetrieveOne(t.Context(), vmNamed(t, c, name).Reference(), props, &vm); err != nil {
		t.Fatal(err)
	}
	return vm
}

// plain is a client that trusts anything and keeps nothing.
func plain(t *testing.T) *http.Client {
	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 30 * time.Second}
}

// folderURL spells the address of a file, every segment escaped once.
func folderURL(s *esxsim.Server, store, file string) *url.URL {
	u := s.URL()
	u.User = nil
	u.Path = "/folder/" + file
	u.RawQuery = url.Values{"dcPath": {"ha-datacenter"}, "dsName": {store}}.Encode()
	return u
}

type answer struct {
	*http.Response
	data []byte
	err  error
}

// fetch asks for a file with basic authentication, with a Range unless empty.
func fetch(t *testing.T, s *esxsim.Server, c *http.Client, method string, u *url.URL, byteRange string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, u.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := s.URL().User.Password()
	req.SetBasicAuth(s.URL().User.Username(), password)
	if byteRange != "" {
		req.Header.Set("Range", "bytes="+byteRange)
	}
	res, err := c.Do(req)
	if err != nil {
		return answer{Response: &http.Response{}, err: err}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return answer{res, data, err}
}

func want(t *testing.T, offset, length int64) []byte {
	t.Helper()
	p := make([]byte, length)
	if _, err := (esxsim.Pattern{Seed: 7, Ranges: webData}).ReadAt(p, offset); err != nil {
		t.Fatal(err)
	}
	return p
}

func sameBytes(t *testing.T, got []byte, offset int64) {
	t.Helper()
	if exp := want(t, offset, int64(len(got))); !bytes.Equal(got, exp) {
		t.Fatalf("%d bytes at %d differ from what was put on the disk", len(got), offset)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 250 {
		if ok() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("after 5 s still not: %s", what)
}
