// Acquire measures how a disk is fetched from a host: our copy against nbdkit with nbdcopy and qemu-img, curl, and the
// bare transport. One HTTPS server with ranges, in a process of its own, serves them all in turn; digests are on where
// the contestant has any, and everything is flushed to disk before the clock stops.
//
//	go run ./testdata/bench/acquire -rounds 3
//
// Counted are the processes of the client side: wall time from start to flushed, CPU by rusage (user and system; not
// the kernel's writeback of buffered writes, which favours those who write that way), and peak resident memory. The
// server shares the machine's cores with every contestant alike.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "acquire:", err)
		os.Exit(1)
	}
}

func run() error {
	var (
		size    = flag.Int64("size", 8<<10, "disk size, MiB")
		used    = flag.Float64("used", 0.24, "part of the disk that holds data")
		rounds  = flag.Int("rounds", 3, "interleaved rounds")
		only    = flag.String("only", "", "run only these contestants, separated by commas")
		rivals  = flag.String("rivals", cached("trixie/root"), "root folder of a newer Debian with nbdkit, libnbd-bin, qemu-utils, curl; the system's own are used where it is missing")
		dir     = flag.String("dir", cached("bench"), "folder for the disk and the copies, on a real file system")
		streams = flag.Int("streams", 8, "connections of our copy and of the bare transport")
		as      = flag.String("as", "", "internal: serve, ours, map or floor")
		url     = flag.String("url", "", "internal")
		out     = flag.String("out", "", "internal")
		profile = flag.String("profile", "", "write a CPU profile of our copy here")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c := client{url: *url, ca: filepath.Join(*dir, "ca.pem"), streams: *streams, profile: *profile}
	switch *as {
	case "":
		b := bench{
			dir: *dir, size: *size << 20, used: *used, rounds: *rounds, rivals: *rivals, streams: *streams, profile: *profile,
		}
		if *only != "" {
			b.only = strings.Split(*only, ",")
		}
		return b.run(ctx)
	case "serve":
		return serve(*dir)
	case "ours":
		return c.copy(ctx, *out, nil)
	case "map":
		extents, err := readExtents(*dir)
		if err != nil {
			return err
		}
		return c.copy(ctx, *out, extents)
	case "floor":
		return c.floor(ctx)
	}
	return fmt.Errorf("unknown part %q", *as)
}

func cached(name string) string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "landfall", name)
}
