package vsphere

import (
	"net/url"
	"testing"
)

func TestParsePath(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       filePath
		ok         bool
	}{
		{"plain", "[datastore1] web/web.vmdk", filePath{"datastore1", "web/web.vmdk"}, true},
		{"brackets in both names", "[ds [old]] web [1]/web.vmdk", filePath{"ds [old]", "web [1]/web.vmdk"}, true},
		{"datastore with spaces", "[my store] a.vmdk", filePath{"my store", "a.vmdk"}, true},
		{"root", "[ds]", filePath{"ds", ""}, true},
		{"no datastore", "web/web.vmdk", filePath{}, false},
		{"empty datastore", "[] a.vmdk", filePath{}, false},
		{"never closed", "[ds web.vmdk", filePath{}, false},
		{"empty", "", filePath{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := parsePath(c.text)
			if ok != c.ok || ok && got != c.want {
				t.Errorf("got %+v, %v", got, ok)
			}
		})
	}
}

func TestFileURL(t *testing.T) {
	base := url.URL{Scheme: "https", Host: "esx"}
	for _, c := range []struct {
		name  string
		file  filePath
		dc    string
		twice bool
		want  string
	}{
		{"plain", filePath{"ds", "web/web-flat.vmdk"}, "ha-datacenter", false,
			"https://esx/folder/web/web-flat.vmdk?dcPath=ha-datacenter&dsName=ds"},
		{"plus, percent, brackets, space", filePath{"a+b", "x + [1] 5%/a&b=c?d#e.vmdk"}, "ha-datacenter", false,
			"https://esx/folder/x%20%2B%20%5B1%5D%205%25/a%26b%3Dc%3Fd%23e.vmdk?dcPath=ha-datacenter&dsName=a%2Bb"},
		{"another script", filePath{"ds", "ü/ж.vmdk"}, "Köln/DC 1", false,
			"https://esx/folder/%C3%BC/%D0%B6.vmdk?dcPath=K%C3%B6ln%2FDC%201&dsName=ds"},
		{"slash in a name, as the API has it", filePath{"ds", "a%2fb/a%2fb.vmdk"}, "ha-datacenter", false,
			"https://esx/folder/a%252fb/a%252fb.vmdk?dcPath=ha-datacenter&dsName=ds"},
		{"twice", filePath{"a+b", "x+y/z.vmdk"}, "D C", true,
			"https://esx/folder/x%252By/z.vmdk?dcPath=D%2520C&dsName=a%252Bb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.file.url(base, c.dc, c.twice).String(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
