package kubevirt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"landfall/engine/fault"
	"landfall/engine/spec"
)

const twoContexts = `
apiVersion: v1
kind: Config
current-context: prod
clusters:
- {name: c1, cluster: {server: "https://10.0.0.1:6443"}}
- {name: empty, cluster: {}}
users:
- {name: u1, user: {token: abc}}
contexts:
- {name: prod, context: {cluster: c1, user: u1}}
- {name: lost, context: {cluster: gone, user: u1}}
- {name: nobody, context: {cluster: c1, user: gone}}
- {name: addressless, context: {cluster: empty, user: u1}}
`

const another = `
apiVersion: v1
kind: Config
clusters:
- {name: c2, cluster: {server: "https://10.0.0.2:6443"}}
contexts:
- {name: test, context: {cluster: c2, user: ""}}
`

func TestKubeconfig(t *testing.T) {
	dir := t.TempDir()
	put := func(name, body string) string {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	one, two := put("one", twoContexts), put("two", another)
	noCurrent := put("none", another)
	home := filepath.Join(dir, "home")
	put("home/.kube/config", twoContexts)
	gone := filepath.Join(dir, "gone")

	for _, c := range []struct {
		what    string
		dest    spec.Destination
		env     string
		home    string
		host    string
		context string
		words   []string
	}{
		{what: "file of the spec, its current context", dest: spec.Destination{Kubeconfig: one}, host: "https://10.0.0.1:6443", context: "prod"},
		{what: "context of the spec", dest: spec.Destination{Kubeconfig: two, Context: "test"}, host: "https://10.0.0.2:6443", context: "test"},
		{what: "several files in KUBECONFIG", dest: spec.Destination{Context: "test"}, env: one + ":" + two, host: "https://10.0.0.2:6443", context: "test"},
		{what: "one of several files missing", env: gone + ":" + one, host: "https://10.0.0.1:6443", context: "prod"},
		{what: "home", home: home, host: "https://10.0.0.1:6443", context: "prod"},
		{what: "spec before KUBECONFIG", dest: spec.Destination{Kubeconfig: one}, env: two, host: "https://10.0.0.1:6443", context: "prod"},
		{what: "file missing", dest: spec.Destination{Kubeconfig: gone}, words: []string{gone, "does not exist"}},
		{what: "no file anywhere", home: dir, words: []string{filepath.Join(dir, ".kube", "config")}},
		{what: "all files of KUBECONFIG missing", env: gone, words: []string{gone}},
		{what: "no such context", dest: spec.Destination{Kubeconfig: one, Context: "staging"}, words: []string{"staging", one, "addressless, lost, nobody, prod"}},
		{what: "no current context", dest: spec.Destination{Kubeconfig: noCurrent}, words: []string{"current context", "test"}},
		{what: "cluster missing", dest: spec.Destination{Kubeconfig: one, Context: "lost"}, words: []string{"gone", "c1"}},
		{what: "user missing", dest: spec.Destination{Kubeconfig: one, Context: "nobody"}, words: []string{"gone", "u1"}},
		{what: "cluster without address", dest: spec.Destination{Kubeconfig: one, Context: "addressless"}, words: []string{"server address"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			getenv := func(k string) string {
				switch k {
				case "KUBECONFIG":
					return c.env
				}
				return ""
			}
			t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1") // a cluster around us is no answer
			t.Setenv("KUBERNETES_SERVICE_PORT", "443")
			cfg, name, err := kubeconfig(c.dest, getenv, c.home)
			if len(c.words) > 0 {
				if fault.ClassOf(err) != fault.Blocked {
					t.Fatalf("got %v, want Blocked", err)
				}
				for _, w := range c.words {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("%q does not say %q", err, w)
					}
				}
				return
			}
			if err != nil || cfg.Host != c.host || name != c.context {
				t.Errorf("got %v, %s, %v", cfg, name, err)
			}
		})
	}
}
