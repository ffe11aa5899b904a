package esxsim_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi"

	"landfall/sources/esxsim"
)

// BenchmarkServe reads a disk that is full of data, or a hole, over some
// connections: the floor under every figure that is taken against this host.
func BenchmarkServe(b *testing.B) {
	const size = 256 * mib
	full := []esxsim.Range{{Offset: 0, Length: size}}
	s, err := esxsim.Start(b.Context(), esxsim.Config{Dir: b.TempDir(), VMs: []esxsim.VM{
		{Name: "full", Disks: []esxsim.Disk{{Size: size, Contents: esxsim.Contents{Seed: 1, Ranges: full}}}},
		{Name: "hole", Disks: []esxsim.Disk{{Size: size}}}}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{"full", "hole"} {
		for _, connections := range []int{1, 4, 8} {
			b.Run(fmt.Sprintf("%s/connections=%d", name, connections), func(b *testing.B) {
				c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: connections, ReadBufferSize: 64 << 10}}
				defer c.CloseIdleConnections()
				b.SetBytes(size)
				for b.Loop() {
					parts := make(chan int64, size/(32*mib))
					for off := int64(0); off < size; off += 32 * mib {
						parts <- off
					}
					close(parts)
					var wg sync.WaitGroup
					for range connections {
						wg.Go(func() {
							buf := make([]byte, mib)
							for off := range parts {
								req, _ := http.NewRequest(http.MethodGet, s.URL().Scheme+"://"+s.URL().Host+"/folder/"+name+"/"+name+"-flat.vmdk?dcPath=ha-datacenter&dsName=datastore1", nil)
								p, _ := s.URL().User.Password()
								req.SetBasicAuth(s.URL().User.Username(), p)
								req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+32*mib-1))
								res, err := c.Do(req)
								if err != nil {
									b.Error(err)
									return
								}
								if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{res.Body}, buf); n != 32*mib || err != nil {
									b.Error(n, err)
								}
								res.Body.Close()
							}
						})
					}
					wg.Wait()
				}
			})
		}
	}
}

// BenchmarkFiveThousand makes and lists 5,000 VMs.
func BenchmarkFiveThousand(b *testing.B) {
	var made, listed time.Duration
	for b.Loop() {
		began := time.Now()
		s, err := esxsim.Start(context.Background(), esxsim.Config{Dir: b.TempDir(), VMs: esxsim.Many(5000, manyLike)})
		if err != nil {
			b.Fatal(err)
		}
		made += time.Since(began)
		c, err := govmomi.NewClient(b.Context(), s.URL(), true)
		if err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		vms, err := list(b.Context(), c, "runtime.powerState", "config.instanceUuid", "summary.config.memorySizeMB")
		if err != nil || len(vms) != 5000 {
			b.Fatal(len(vms), err)
		}
		listed += time.Since(began)
		s.Close()
	}
	b.ReportMetric(made.Seconds()/float64(b.N), "made-s")
	b.ReportMetric(listed.Seconds()/float64(b.N), "listed-s")
}
