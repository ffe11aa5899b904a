package term

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Watch calls lost once when the terminal goes away: on SIGHUP, or when reading or writing it fails or ends. It returns
// in and out wrapped for that, and stops watching when ctx ends. lost is called on a goroutine of its own.
func Watch(ctx context.Context, in, out *os.File, lost func()) (*Input, *Output) {
	var once sync.Once
	fire := func() {
		once.Do(func() { go lost() })
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	go func() {
		defer signal.Stop(hup)
		select {
		case <-hup:
			fire()
		case <-ctx.Done():
		}
	}()
	return &Input{File: in, gone: fire}, &Output{File: out, gone: fire}
}

// Input is a terminal that tells when its reading end is gone.
type Input struct {
	*os.File
	gone func()
}

func (f *Input) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if err != nil || (n == 0 && len(p) > 0) {
		f.gone()
	}
	return n, err // the reader above looks for io.EOF itself
}

// Output is a terminal that tells when it cannot be written any more.
type Output struct {
	*os.File
	gone func()
}

func (f *Output) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if err != nil {
		f.gone()
	}
	return n, err // as of the file
}
