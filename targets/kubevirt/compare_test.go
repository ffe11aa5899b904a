package kubevirt

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, s string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(s), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMissing(t *testing.T) {
	for _, c := range []struct {
		what, want, have string
		diff             []string
	}{
		{"equal", "a: 1", "a: 1", nil},
		{"defaults of others", "a: {b: 1}", "a: {b: 1, c: 2}\nd: 3", nil},
		{"quantities", "memory: 4Gi", "memory: 4096Mi", nil},
		{"value", "a: {b: x}", "a: {b: z}", []string{"a.b: is z, planned x"}},
		{"gone", "a: {b: x}", "a: {}", []string{"a.b: missing, planned x"}},
		{"empty object gone", "net: {pod: {}}", "net: {multus: {}}", []string{"net.pod: missing, planned {}"}},
		{"key with dots", `l: {"a.b/c": x}`, `l: {"a.b/c": z}`, []string{`l["a.b/c"]: is z, planned x`}},
		{"named items in another order", "l: [{name: a, v: 1}, {name: b, v: 2}]", "l: [{name: b, v: 2}, {name: x}, {name: a, v: 1}]", nil},
		{"named item gone", "l: [{name: a}]", "l: [{name: b}]", []string{"l[a]: missing"}},
		{"named item edited", "l: [{name: a, bus: virtio}]", "l: [{name: a, bus: sata}]", []string{"l[a].bus: is sata, planned virtio"}},
		{"list shorter", "l: [x, y]", "l: [x]", []string{"l[1]: missing"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			if d := cmp.Diff(c.diff, missing("", parse(t, c.want), parse(t, c.have))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOverlayMendsAndKeeps(t *testing.T) {
	have := parse(t, "spec: {disks: [{name: hot, bus: scsi}, {name: a, bus: sata, cache: none}], other: 1}\nstatus: {x: 1}")
	want := parse(t, "spec: {disks: [{name: a, bus: virtio}, {name: b, bus: virtio}], args: [x]}")
	got := overlay(have, want).(map[string]any)
	if d := missing("", want, got); d != nil {
		t.Errorf("not mended: %v", d)
	}
	kept := parse(t, "spec: {disks: [{name: hot, bus: scsi}, {name: a, cache: none}], other: 1}\nstatus: {x: 1}")
	if d := missing("", kept, got); d != nil {
		t.Errorf("lost of others: %v", d)
	}
}
