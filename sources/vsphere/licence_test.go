package vsphere_test

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"

	"github.com/vmware/govmomi/simulator"

	"landfall/engine/fault"
	"landfall/engine/secret"
	"landfall/engine/spec"
	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

func TestReadOnlyLicence(t *testing.T) {
	for _, c := range []struct {
		name, edition string
		readOnly      bool
	}{{"evaluation", "eval", false}, {"free", "esxBasic", true}, {"standard", "esx.standard.cpuPackage", false}} {
		t.Run(c.name, func(t *testing.T) {
			model := simulator.ESX()
			if err := model.Create(); err != nil {
				t.Fatal(err)
			}
			defer model.Remove()
			licences := model.Service.Context.Map.Get(*model.ServiceContent.LicenseManager).(*simulator.LicenseManager)
			licences.Licenses[0].EditionKey, licences.Licenses[0].Name = c.edition, "vSphere 8 "+c.name
			model.Service.TLS = new(tls.Config)
			server := model.Service.NewServer()
			defer server.Close()
			user := server.URL.User
			word, _ := user.Password()
			t.Setenv("VSPHERE_TEST_PASSWORD", word)
			pin, err := vsphere.Fingerprint(context.Background(), server.URL.Host)
			if err != nil {
				t.Fatal(err)
			}
			src := dial(t, spec.Source{Address: server.URL.Host, Username: user.Username(),
				Password: secret.Ref{Env: "VSPHERE_TEST_PASSWORD"}, TLS: spec.TLS{Thumbprint: pin}}, vsphere.Options{})
			why := src.About().ReadOnly
			if (why != "") != c.readOnly || c.readOnly && !strings.Contains(why, "vSphere 8 free") {
				t.Errorf("read only: %q", why)
			}
		})
	}
}

// On a host of the free licence, what is left works: looking, and reading the disks of VMs that are off.
func TestFreeLicence(t *testing.T) {
	c := esxsim.Config{FreeLicence: true, VMs: []esxsim.VM{
		{Name: "web", Disks: []esxsim.Disk{{Size: diskSize, Contents: content(7, esxsim.Range{Length: diskSize})}}},
		{Name: "on", Power: esxsim.On},
	}}
	_, src, vm, d := opened(t, c, vsphere.Options{})
	if err := src.ProveOff(context.Background(), vm); err != nil {
		t.Error(err)
	}
	got, _, err := fetch(d, diskSize)
	if err != nil {
		t.Fatal(err)
	}
	right(t, got)
	err = src.PowerOff(context.Background(), ref(t, src, "on"))
	expect(t, err, fault.Blocked, fault.Restricted)
	if !strings.Contains(fault.HintOf(err), "reading its disks") {
		t.Errorf("the hint does not say what remains: %s", fault.HintOf(err))
	}
}
