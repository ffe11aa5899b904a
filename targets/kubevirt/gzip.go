package kubevirt

import (
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipStream is for releases of CDI that do not know zstd.
type gzipStream struct{ *gzip.Writer }

func newGzip(w io.Writer) (coder, error) {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	return gzipStream{z}, err
}

var nothing [chunk]byte

func (g gzipStream) zeros(n int64) error {
	for n > 0 {
		m, err := g.Write(nothing[:min(n, chunk)])
		if err != nil {
			return err
		}
		n -= int64(m)
	}
	return nil
}
