package kubevirt

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPrefixes(t *testing.T) {
	for _, c := range []struct {
		what string
		in   []string
		want []string
	}{
		{"none", nil, nil},
		{"one twice, and one within another", []string{"10.244.1.0/24", " 10.244.0.0/16", "10.244.0.0/16"}, []string{"10.244.0.0/16"}},
		{"addresses", []string{"192.168.7.2", "192.168.7.1", "fe80::1%eth0", "::ffff:10.0.0.1"}, []string{"10.0.0.1/32", "192.168.7.1/32", "192.168.7.2/32", "fe80::1/128"}},
		{"host bits set", []string{"10.96.1.7/12"}, []string{"10.96.0.0/12"}},
		{"what is none", []string{"", "x", "10.0.0.0/99", "\x1b[31m", "10.0.0.0/8"}, []string{"10.0.0.0/8"}},
	} {
		if d := cmp.Diff(c.want, prefixes(c.in)); d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
	}
}

func TestPlugin(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{`{"cniVersion":"0.3.1","type":"bridge"}`, "bridge"},
		{`{"plugins":[{"type":"sriov"},{"type":"tuning"}]}`, "sriov"},
		{`{"type":7}`, ""},
		{`{"plugins":[]}`, ""},
		{`not json`, ""},
		{``, ""},
	} {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"config": c.config}}}
		if got := plugin(u); got != c.want {
			t.Errorf("%s: %q, want %q", c.config, got, c.want)
		}
	}
	if got := plugin(&unstructured.Unstructured{Object: map[string]any{"spec": "x"}}); got != "" {
		t.Errorf("no configuration gives %q", got)
	}
}
