// Package vm is the lab's layer vm.
package vm

import (
	"context"

	"landfall/testdata/cluster/build"
	"landfall/testdata/cluster/lab"
)

// Programs are what the layer is made of.
var Programs []build.Program

// Up starts the layer.
func Up(context.Context, *lab.Lab, build.Builder) error { return nil }
