package vsphere_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

func BenchmarkRead(b *testing.B) {
	const size, part = 256 << 20, 32 << 20
	_, _, _, d := opened(b, esxsim.Config{VMs: []esxsim.VM{{Name: "web", Disks: []esxsim.Disk{{Size: size, Contents: content(1, esxsim.Range{Length: size / 4})}}}}}, vsphere.Options{})
	for _, streams := range []int{1, 4, 8} {
		b.Run(map[int]string{1: "1 stream", 4: "4 streams", 8: "8 streams"}[streams], func(b *testing.B) {
			b.SetBytes(size)
			for range b.N {
				var next atomic.Int64
				var wg sync.WaitGroup
				for range streams {
					wg.Go(func() {
						buf := make([]byte, 1<<20)
						for at := next.Add(part) - part; at < size; at = next.Add(part) - part {
							r, err := d.Open(context.Background(), at, part)
							if err != nil {
								b.Error(err)
								return
							}
							for err == nil {
								_, err = io.ReadFull(r, buf)
							}
							if !errors.Is(err, io.EOF) {
								b.Error(err)
							}
							_ = r.Close()
						}
					})
				}
				wg.Wait()
			}
		})
	}
}
