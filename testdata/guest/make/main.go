// Command make builds a bootable guest disk whose page carries a token, and
// prints the path of the image: go run ./testdata/guest/make TOKEN
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"landfall/testdata/guest"
)

func main() {
	firmware := flag.String("firmware", "bios", "what starts the disk: bios or efi")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	path, err := guest.Image{Token: flag.Arg(0), Firmware: guest.Firmware(*firmware)}.Build(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(path)
}
