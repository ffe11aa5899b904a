package spec

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const good = `apiVersion: landfall.dev/v1alpha1
kind: VirtualMachineMigration
metadata:
  name: web
spec:
  source:
    type: vsphere
    address: esxi.example
    username: root
    password:
      env: ESXI_PASSWORD
    vm:
      moref: vm-12
  destination:
    namespace: vms
  storage:
    mappings:
      - datastore: datastore1
        storageClassName: fast
  network:
    mappings:
      - portGroup: VM Network
        type: Pod
  validation:
    checks:
      - type: HTTP
        expectBodyContains: hello
`

func TestRead(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"as it is":                    {"", "", ""},
		"unknown field":               {"    username: root", "    user: root", "line 9: field user is not known in Source"},
		"unknown top field":           {"metadata:", "meta:", "line 3: field meta is not known in Document"},
		"wrong type":                  {"    namespace: vms", "    namespace: [a]", "line 15"},
		"not YAML":                    {"  source:", "\tsource:", "line 6"},
		"wrong version":               {"v1alpha1", "v9", `apiVersion: "landfall.dev/v9" is not one of landfall.dev/v1alpha1`},
		"no VM":                       {"      moref: vm-12", "      {}", "spec.source.vm: give moref or instanceUUID"},
		"password in the address":     {"esxi.example", "https://root:secret@esxi.example", "spec.source.address: must not hold a user or password"},
		"plain http":                  {"esxi.example", "http://esxi.example", `spec.source.address: "http" is not https`},
		"two passwords":               {"      env: ESXI_PASSWORD", "      env: A\n      file: /b", "spec.source.password: give one of env, file and command"},
		"bad namespace":               {"namespace: vms", "namespace: VMs_1", "spec.destination.namespace"},
		"warm":                        {"  storage:", "  strategy: {type: Warm, warm: {maxRounds: 3}}\n  storage:", ""},
		"warm options of a cold one":  {"  storage:", "  strategy: {warm: {maxRounds: 3}}\n  storage:", "spec.strategy.warm: is for type Warm, not for Cold"},
		"a window without a budget":   {"  storage:", "  strategy: {type: Warm, warm: {window: {from: 2030-01-01T22:00:00Z, until: 2030-01-02T04:00:00Z}}}\n  storage:", "downtimeBudgetSeconds: is required with a window"},
		"a window that ends first":    {"  storage:", "  strategy: {type: Warm, warm: {downtimeBudgetSeconds: 60, window: {until: 2030-01-01T22:00:00Z, from: 2030-01-02T04:00:00Z}}}\n  storage:", "from must lie before until"},
		"tracking by another word":    {"  storage:", "  strategy: {type: Warm, warm: {changeTracking: yes please}}\n  storage:", "spec.strategy.warm.changeTracking"},
		"virt-v2v":                    {"  storage:", "  strategy: {conversion: VirtV2V}\n  storage:", "spec.strategy.conversion: VirtV2V is not available yet"},
		"delivery without an address": {"  storage:", "  strategy: {delivery: HTTP}\n  storage:", "spec.destination.serveAddress: is required for delivery HTTP"},
		"address without delivery":    {"    namespace: vms", "    namespace: vms\n    serveAddress: a:1", "contradicts delivery Upload"},
		"nothing is shut down":        {"    vm:", "    powerOffPolicy: Never\n    shutdownTimeoutSeconds: 5\n    vm:", "contradicts powerOffPolicy Never"},
		"mapped twice":                {"      - datastore: datastore1", "      - {datastore: datastore1, storageClassName: a}\n      - datastore: datastore1", `"datastore1" is mapped twice`},
		"multus without a name":       {"type: Pod", "type: Multus", "spec.network.mappings[0].name: is required for Multus"},
		"port for an IP check":        {"      - type: HTTP\n        expectBodyContains: hello", "      - type: IP\n        port: 80", "spec.validation.checks[0].type: port, path and expectations are for HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := Read(strings.NewReader(strings.Replace(good, tc.old, tc.new, 1)))
			switch {
			case tc.want == "" && err != nil:
				t.Fatal(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Fatalf("error %v, want %q", err, tc.want)
			case tc.want != "" && err != nil && strings.Contains(err.Error(), "secret"):
				t.Errorf("the password is in the error: %v", err)
			case tc.want == "" && len(docs) != 1:
				t.Errorf("%d documents", len(docs))
			}
		})
	}
}

func TestWriteIsReadBack(t *testing.T) {
	docs, err := Read(strings.NewReader(good + "---\n" + good))
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, d := range docs {
		d.Spec = d.Spec.Default()
		b, err := Write(d)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("---\n")
		all.Write(b)
	}
	again, err := Read(&all)
	if err != nil {
		t.Fatal(err)
	}
	for i := range docs {
		docs[i].Spec = docs[i].Spec.Default()
	}
	if diff := cmp.Diff(docs, again); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	docs, err := Read(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	s := docs[0].Spec.Default()
	for what, ok := range map[string]bool{
		"policy":   s.Source.PowerOffPolicy == GracefulThenAsk,
		"retries":  s.Strategy.Retries() == 3,
		"keep MAC": s.KeepMAC(),
		"pod":      s.Network.Mappings[0].Binding == "masquerade",
		"check":    s.Validation.Checks[0] == Check{Type: "HTTP", Port: 80, Path: "/", ExpectStatus: 200, ExpectBodyContains: "hello"},
	} {
		if !ok {
			t.Errorf("%s: %+v", what, s)
		}
	}
	if docs[0].Spec.Network.Mappings[0].Binding != "" {
		t.Error("the default was written into the person's own document")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(good)
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		docs, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, d := range docs {
			if _, err := Write(d); err != nil {
				t.Errorf("read and cannot be written: %v", err)
			}
		}
	})
}
