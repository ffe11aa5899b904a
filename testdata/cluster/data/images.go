package data

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"landfall/testdata/cluster/lab"
)

const (
	registry   = "landfall.lab" // leads nowhere: every image is put in place
	pauseImage = registry + "/pause:1"
	// ShellImage has busybox, as /bin/sh and under every name of its own.
	ShellImage = registry + "/shell:1"
)

func cdiImage(name string) string { return registry + "/" + name + ":" + cdiVersion }

// makeImages makes the layer's images.
func makeImages(ctx context.Context, l *lab.Lab, program map[string]string) error {
	shell := Image{Name: ShellImage, Files: map[string]string{"/bin/busybox": "/usr/bin/busybox"}, Links: map[string]string{}, Entrypoint: []string{"/bin/sh"}}
	out, err := exec.CommandContext(ctx, "busybox", "--list").Output()
	if err != nil {
		return fmt.Errorf("make the image of a shell: %w", err)
	}
	for _, applet := range strings.Fields(string(out)) {
		if applet != "busybox" {
			shell.Links["/bin/"+applet] = "busybox"
		}
	}
	all := []Image{{Name: pauseImage, Files: map[string]string{"/pause": program["pause"]}, Entrypoint: []string{"/pause"}}, shell}
	for _, p := range []struct {
		name string
		args []string
		more map[string]string
	}{
		{"cdi-operator", nil, nil},
		{"cdi-controller", []string{"-alsologtostderr"}, map[string]string{"/usr/bin/cat": "/usr/bin/cat"}}, // its probe reads a file
		{"cdi-apiserver", []string{"-alsologtostderr"}, nil},
		{"cdi-uploadproxy", []string{"-alsologtostderr"}, nil},
		{"cdi-importer", []string{"-alsologtostderr"}, map[string]string{"/usr/bin/qemu-img": "/usr/bin/qemu-img"}},
		{"cdi-uploadserver", []string{"-alsologtostderr"}, map[string]string{"/usr/bin/qemu-img": "/usr/bin/qemu-img"}},
	} {
		at := "/usr/bin/" + p.name
		i := Image{Name: cdiImage(p.name), Files: map[string]string{at: program[p.name]}, Entrypoint: append([]string{at}, p.args...), User: "1001"}
		for to, from := range p.more {
			i.Files[to] = from
		}
		all = append(all, i)
	}
	begun := time.Now()
	for _, i := range all {
		if err := AddImage(ctx, l, i); err != nil {
			return err
		}
	}
	l.Say("%d images are in place: after %.1f s", len(all), time.Since(begun).Seconds())
	return nil
}
