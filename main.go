// Landfall moves virtual machines from VMware ESXi or vCenter to KubeVirt.
package main

import (
	"context"
	"os"

	"landfall/ui/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), cli.World{Args: os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Lookup: os.LookupEnv}))
}
