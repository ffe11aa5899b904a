package vsphere

import (
	"strings"
	"testing"

	"landfall/engine/fault"
)

func TestEndpoint(t *testing.T) {
	for _, c := range []struct{ name, address, want string }{
		{"host", "esx1.lab", "https://esx1.lab/sdk"},
		{"host and port", "esx1.lab:8443", "https://esx1.lab:8443/sdk"},
		{"usual port", "ESX1.lab:443", "https://esx1.lab/sdk"},
		{"URL", "https://esx1.lab", "https://esx1.lab/sdk"},
		{"slash at the end", "https://esx1.lab/", "https://esx1.lab/sdk"},
		{"API", "https://esx1.lab/sdk/", "https://esx1.lab/sdk"},
		{"as copied from the browser", "https://esx1.lab/ui/#/login", "https://esx1.lab/sdk"},
		{"spaces around", " esx1.lab ", "https://esx1.lab/sdk"},
		{"IPv4", "192.0.2.7", "https://192.0.2.7/sdk"},
		{"IPv6", "2001:db8::7", "https://[2001:db8::7]/sdk"},
		{"IPv6 and port", "[2001:db8::7]:8443", "https://[2001:db8::7]:8443/sdk"},
		{"http", "http://esx1.lab", ""},
		{"user and password", "https://root:geheim@esx1.lab", ""},
		{"password without a scheme", "root:geheim@esx1.lab", ""},
		{"other path", "https://esx1.lab/folder", ""},
		{"port out of range", "esx1.lab:99999", ""},
		{"nothing", "", ""},
		{"no host", "https:///sdk", ""},
		{"broken", "https://[::1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := endpoint(c.address)
			switch {
			case c.want == "":
				if fault.ClassOf(err) != fault.Blocked || fault.HintOf(err) == "" {
					t.Errorf("got %v, %v [%s]", u, err, fault.HintOf(err))
				}
				if err != nil && strings.Contains(err.Error()+fault.HintOf(err), "geheim") {
					t.Errorf("the password is told: %v", err)
				}
			case err != nil:
				t.Error(err)
			case u.String() != c.want:
				t.Errorf("got %s, want %s", u, c.want)
			}
		})
	}
}

func TestVersionOrder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"8.0.2.0", "8.0.1.0", true}, {"8.0.10", "8.0.9", true}, {"6.7", "6.7.0.0", false}, {"6.7", "8.0", false}, {"7.0.3", "7.0", true}, {"", "5.5", false}} {
		if got := newer(c.a, c.b); got != c.want {
			t.Errorf("newer(%q, %q) = %v", c.a, c.b, got)
		}
	}
}
