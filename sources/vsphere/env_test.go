package vsphere

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"landfall/engine/fault"
	"landfall/engine/secret"
	"landfall/engine/spec"
)

func TestFromEnv(t *testing.T) {
	pin := strings.Repeat("0A:", 31) + "0A"
	known := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(known, []byte("other:443 AA\nesx1.lab:443 "+pin+"\nold.lab:443 "+strings.Repeat("0A:", 19)+"0A\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		env  map[string]string
		want spec.Source
		hint string // of the refusal
	}{
		{"nothing set", nil, spec.Source{}, ""},
		{"host, user and password", map[string]string{"GOVC_URL": "esx1.lab", "GOVC_USERNAME": "root", "GOVC_PASSWORD": "geheim"},
			spec.Source{Type: "vsphere", Address: "esx1.lab", Username: "root", Password: secret.Ref{Env: "GOVC_PASSWORD"}}, ""},
		{"user in the URL", map[string]string{"GOVC_URL": "https://root@esx1.lab/sdk"}, spec.Source{Type: "vsphere", Address: "esx1.lab", Username: "root"}, ""},
		{"user variable before URL", map[string]string{"GOVC_URL": "root@esx1.lab", "GOVC_USERNAME": "ops"}, spec.Source{Type: "vsphere", Address: "esx1.lab", Username: "ops"}, ""},
		{"password in the URL", map[string]string{"GOVC_URL": "https://root:geheim@esx1.lab"}, spec.Source{}, "GOVC_PASSWORD"},
		{"password in a bare URL", map[string]string{"GOVC_URL": "root:geheim@esx1.lab"}, spec.Source{}, "GOVC_PASSWORD"},
		{"URL that cannot be read", map[string]string{"GOVC_URL": "https://root:geheim%@esx1.lab"}, spec.Source{}, "GOVC_USERNAME"},
		{"insecure", map[string]string{"GOVC_URL": "esx1.lab", "GOVC_INSECURE": "1"}, spec.Source{}, "thumbprint"},
		{"insecure switched off", map[string]string{"GOVC_URL": "esx1.lab", "GOVC_INSECURE": "false"}, spec.Source{Type: "vsphere", Address: "esx1.lab"}, ""},
		{"authorities", map[string]string{"GOVC_URL": "esx1.lab", "GOVC_TLS_CA_CERTS": "/etc/ca.pem"},
			spec.Source{Type: "vsphere", Address: "esx1.lab", TLS: spec.TLS{CAFile: "/etc/ca.pem"}}, ""},
		{"several files of authorities", map[string]string{"GOVC_TLS_CA_CERTS": "/a:/b"}, spec.Source{}, "one file"},
		{"known host", map[string]string{"GOVC_URL": "esx1.lab", "GOVC_TLS_KNOWN_HOSTS": "/absent:" + known},
			spec.Source{Type: "vsphere", Address: "esx1.lab", TLS: spec.TLS{Thumbprint: strings.Repeat("0a", 32)}}, ""},
		{"host that is not known", map[string]string{"GOVC_URL": "esx2.lab", "GOVC_TLS_KNOWN_HOSTS": known}, spec.Source{Type: "vsphere", Address: "esx2.lab"}, ""},
		{"known by SHA-1 alone", map[string]string{"GOVC_URL": "old.lab", "GOVC_TLS_KNOWN_HOSTS": known}, spec.Source{}, "SHA-256"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := FromEnv(func(k string) (string, bool) { v, ok := c.env[k]; return v, ok })
			if c.hint != "" {
				if err == nil || !strings.Contains(fault.HintOf(err), c.hint) {
					t.Fatalf("got %v [%s], want a hint at %q", err, fault.HintOf(err), c.hint)
				}
				if strings.Contains(err.Error()+fault.HintOf(err), "geheim") {
					t.Errorf("the password is told: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}
