package spec

import (
	"strings"
	"testing"
)

func TestReadersOfRunningDisks(t *testing.T) {
	for name, tc := range map[string]struct{ nbd, want string }{
		"none":                        {"{}", ""},
		"a server that is there":      {"{uri: 'nbd+unix:///{key}?socket=/run/nbd.sock'}", ""},
		"a command":                   {"{command: [nbdkit, -f, -U, '{socket}', vddk, 'password=+{password}']}", ""},
		"both":                        {"{uri: nbd://nas, command: [nbdkit, '{socket}']}", "not both"},
		"a command without a socket":  {"{command: [nbdkit, vddk]}", "{socket}"},
		"a command without a program": {"{command: ['', '{socket}']}", "name a program"},
		"a field that is not known":   {"{url: nbd://nas}", "field url is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(good, "    username: root\n", "    username: root\n    nbd: "+tc.nbd+"\n", 1)
			doc, err := Read(strings.NewReader(text))
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%v, want %q", err, tc.want)
			case tc.want == "" && doc[0].Spec.Source.NBD.IsZero() != (name == "none"):
				t.Errorf("%+v", doc[0].Spec.Source.NBD)
			}
		})
	}
}
