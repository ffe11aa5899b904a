package targets

import (
	"regexp"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	uuid := "52E0F3A1-9c4b-11aa-2233-445566778899"
	for _, c := range []struct{ what, name, want string }{
		{"plain", "web01", "web01"},
		{"upper case and underscore", "Web_01", "web-01"},
		{"space", "web 01", "web-01"},
		{"run of others", "web . _ 01", "web-01"},
		{"others beside a dash", "web - 01", "web-01"},
		{"own dashes kept", "web--01", "web--01"},
		{"dots", ".web.example.com.", "web-example-com"},
		{"slash as the inventory has it", "a%2fb", "a-2fb"},
		{"path traversal", "../../etc/passwd", "etc-passwd"},
		{"accents", "Büro-Server", "b-ro-server"},
		{"nothing left", "服务器", "vm-52e0f3a1"},
		{"only dots", "...", "vm-52e0f3a1"},
		{"empty", "", "vm-52e0f3a1"},
		{"80 characters", strings.Repeat("a", 80), strings.Repeat("a", 54) + "-0f45e858"},
		{"63 characters", strings.Repeat("a", 63), strings.Repeat("a", 63)},
		{"cut at a dash", strings.Repeat("a", 53) + "-" + strings.Repeat("b", 20), strings.Repeat("a", 53) + "-af3ec493"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := Name(c.name, uuid); got != c.want {
				t.Errorf("Name(%q) = %q, want %q", c.name, got, c.want)
			}
		})
	}
	long := strings.Repeat("web-server-of-the-shop-", 3)
	if a, b := Name(long+"202401", ""), Name(long+"202402", ""); a == b {
		t.Errorf("two VMs whose names differ at the end share the name %s", a)
	}
	if a, b := Name("服务器", ""), Name("数据库", ""); a == b {
		t.Errorf("two VMs without letters or UUID share the name %s", a)
	}
}

func TestVolumeName(t *testing.T) {
	if got := VolumeName("web", 3); got != "web-disk-3" {
		t.Errorf("VolumeName = %q", got)
	}
	long := strings.Repeat("x", 62)
	a, b := VolumeName(long+"a", 0), VolumeName(long+"b", 0)
	if a == b {
		t.Errorf("two VMs share the volume %s", a)
	}
	for _, n := range []string{a, b, VolumeName(long+"a", 160)} {
		if len(n) > 63 {
			t.Errorf("%s has %d characters", n, len(n))
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("Web_01")
	f.Add("-.-")
	f.Add("\x1b[31mred")
	valid := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	f.Fuzz(func(t *testing.T, s string) {
		n := Name(s, "52e0f3a1")
		if !valid.MatchString(n) {
			t.Errorf("Name(%q) = %q is no DNS label", s, n)
		}
		if n != Name(s, "52e0f3a1") || n != Name(n, "") {
			t.Errorf("Name(%q) = %q is not stable", s, n)
		}
		if v := VolumeName(n, 12); !valid.MatchString(v) {
			t.Errorf("volume name %q is no DNS label", v)
		}
	})
}
