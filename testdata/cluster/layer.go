package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"landfall/testdata/cluster/boot"
	"landfall/testdata/cluster/build"
	"landfall/testdata/cluster/control"
	"landfall/testdata/cluster/data"
	"landfall/testdata/cluster/lab"
	"landfall/testdata/cluster/vm"
)

// layer is a part of the cluster; each stands on those before it.
type layer struct {
	name, what string
	programs   []build.Program
	up         func(context.Context, *lab.Lab, build.Builder) error
}

var layers = []layer{
	{"api", "etcd, API server, controllers, scheduler, the kinds of KubeVirt and CDI", control.Programs, control.Up},
	{"vm", "virt-api and virt-controller; a node and a virt-handler that are played", vm.Programs, vm.Up},
	{"data", "a node with containerd, volumes, and CDI", data.Programs, data.Up},
	{"boot", "a virt-handler that runs machines as qemu on the files of their claims", boot.Programs, boot.Up},
}

// upTo gives the layers up to one; all for "".
func upTo(name string) ([]layer, error) {
	if name == "" {
		return layers, nil
	}
	var names []string
	for i, l := range layers {
		if l.name == name {
			return layers[:i+1], nil
		}
		names = append(names, l.name)
	}
	return nil, fmt.Errorf("there is no layer %q; there are %s", name, strings.Join(names, ", "))
}

// builder builds from the pins beside the source that this is run from.
func builder(l *lab.Lab) (build.Builder, error) {
	dir, err := os.Getwd()
	if err != nil {
		return build.Builder{}, err
	}
	if _, err := os.Stat(filepath.Join(dir, "pins", "etcd", "go.mod")); err != nil {
		return build.Builder{}, fmt.Errorf("run it in testdata/cluster (go -C testdata/cluster run . …): %w", err)
	}
	return build.Builder{Source: dir, Bin: l.Bin(), Out: l.Out}, nil
}

func (l layer) mark(of *lab.Lab) string { return of.Path("up-" + l.name) }

// standing gives the names of the layers that are up, the lowest first.
func standing(of *lab.Lab) (names []string) {
	for _, l := range layers {
		if _, err := os.Stat(l.mark(of)); err != nil {
			break
		}
		names = append(names, l.name)
	}
	return names
}

// bring brings layers up, one after the other. A layer that is up already and whose processes all run is left alone.
func bring(ctx context.Context, of *lab.Lab, wanted []layer) error {
	b, err := builder(of)
	if err != nil {
		return err
	}
	dead, err := of.Dead()
	if err != nil {
		return err
	}
	up := standing(of)
	if len(dead) == 0 && len(up) >= len(wanted) {
		of.Say("%s: up already", strings.Join(up, ", "))
		return nil
	}
	// Before anything is applied, for what has ended may be a webhook that is asked.
	if err := revive(of); err != nil {
		return err
	}
	for _, l := range wanted {
		if slices.Contains(up, l.name) && len(dead) == 0 {
			continue
		}
		of.Say("layer %s: %s", l.name, l.what)
		if err := l.up(ctx, of, b); err != nil {
			return fmt.Errorf("layer %s: %w", l.name, err)
		}
		if err := os.WriteFile(l.mark(of), nil, 0o600); err != nil {
			return err
		}
	}
	if err := revive(of); err != nil {
		return err
	}
	self, err := of.Self()
	if err != nil {
		return err
	}
	return of.Start(lab.Process{Name: "keeper", Argv: []string{self, "daemon", "keeper"}, Env: []string{"LANDFALL_CLUSTER_DIR=" + of.Dir}})
}

// revive starts again what ended before there is a keeper, or while it looked on.
func revive(of *lab.Lab) error {
	dead, err := of.Dead()
	for _, name := range dead {
		of.Say("%s ended and is started again", name)
		err = errors.Join(err, of.Restart(name))
	}
	return err
}
