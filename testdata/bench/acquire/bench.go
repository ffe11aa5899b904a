package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

type bench struct {
	dir, rivals, profile string
	size                 int64
	used                 float64
	rounds, streams      int
	only                 []string

	self    string
	tools   tools
	base    string
	http    *http.Client
	checked map[string]bool // whose copy was compared with the disk
}

func (b *bench) connections() string { return strconv.Itoa(b.streams) }

func (b *bench) run(ctx context.Context) error {
	var err error
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	b.tools, b.checked = findTools(b.rivals), map[string]bool{}
	extents, err := makeDisk(b.dir, b.size, b.used)
	if err != nil {
		return fmt.Errorf("make the disk: %w", err)
	}
	stop, err := b.startServer(ctx)
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	defer stop()
	var data int64
	for _, e := range extents {
		data += e.Length
	}
	fmt.Printf("disk %d MiB, %d MiB of it data in %d extents; %d cores, %s; %s, %s, %s, %s\n", b.size>>20, data>>20, len(extents),
		runtime.NumCPU(), runtime.Version(), b.tools.version(ctx, "nbdkit"), b.tools.version(ctx, "nbdcopy"),
		b.tools.version(ctx, "qemu-img"), firstWords(b.tools.version(ctx, "curl"), 2))

	var list []contestant
	for _, c := range b.contestants(b.base + "/disk") {
		if b.only == nil || slices.Contains(b.only, c.name) {
			list = append(list, c)
		}
	}
	figures := map[string][]figure{}
	for round := range b.rounds {
		for i := range list {
			c := list[(i+round)%len(list)] // nobody always comes after the same
			f, err := b.measure(ctx, c, b.base+"/disk")
			if err != nil {
				return err
			}
			fmt.Printf("round %d  %s\n", round+1, f.line(c.name))
			figures[c.name] = append(figures[c.name], f)
		}
	}
	report(list, figures)
	return nil
}

// startServer starts the host in a process of its own.
func (b *bench) startServer(ctx context.Context) (stop func(), err error) {
	cmd := exec.CommandContext(ctx, b.self, "-as", "serve", "-dir", b.dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = in.Close() // it ends then
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return nil, err
	}
	b.base = strings.TrimSpace(line)
	ca, err := os.ReadFile(filepath.Join(b.dir, "ca.pem"))
	if err != nil {
		stop()
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	b.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	return stop, nil
}

// counts takes over what the server counted since it was last asked.
func (b *bench) counts(ctx context.Context, f *figure) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+"/counts", nil)
	if err != nil {
		return err
	}
	res, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = fmt.Fscan(res.Body, &f.bytes, &f.requests, &f.connections)
	return err
}

func (f figure) line(name string) string {
	return fmt.Sprintf("%-14s wall %6.2f s  cpu %6.2f s  peak %4d MiB  read %5d MiB in %5d requests, %4d connections",
		name, f.wall.Seconds(), f.cpu.Seconds(), f.rss>>20, f.bytes>>20, f.requests, f.connections)
}

// report prints medians, and ours against each.
func report(list []contestant, figures map[string][]figure) {
	middle := map[string]figure{}
	fmt.Println("\nmedians")
	for _, c := range list {
		f := figures[c.name]
		m := f[len(f)/2]
		m.wall, m.cpu = median(f, func(f figure) time.Duration { return f.wall }), median(f, func(f figure) time.Duration { return f.cpu })
		middle[c.name] = m
		fmt.Printf("%s   %s\n", m.line(c.name), c.what)
	}
	for _, own := range []string{"ours", "ours-map"} {
		m, ok := middle[own]
		if !ok {
			continue
		}
		for _, c := range list {
			if c.name == own || strings.HasPrefix(c.name, "ours") {
				continue
			}
			o := middle[c.name]
			fmt.Printf("%-8s / %-14s wall %.2f  cpu %.2f\n", own, c.name, m.wall.Seconds()/o.wall.Seconds(), m.cpu.Seconds()/o.cpu.Seconds())
		}
	}
}

func median(f []figure, of func(figure) time.Duration) time.Duration {
	var d []time.Duration
	for _, x := range f {
		d = append(d, of(x))
	}
	slices.Sort(d)
	n := len(d)
	return (d[(n-1)/2] + d[n/2]) / 2
}

func firstWords(s string, n int) string {
	return strings.Join(strings.Fields(s)[:min(n, len(strings.Fields(s)))], " ")
}
