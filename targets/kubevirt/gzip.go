package kubevirt

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// gzipCoding is for releases of CDI that do not know zstd. Members that follow each other are one stream there too.
type gzipCoding struct{}

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

func (gzipCoding) data(dst, p []byte) []byte {
	b := bytes.NewBuffer(dst)
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(b)
	_, _ = w.Write(p) // a bytes.Buffer takes all
	_ = w.Close()
	return b.Bytes()
}

func (g gzipCoding) first(p []byte) []byte { return g.data(nil, p) }

var fullZeros = sync.OnceValue(func() []byte { return gzipCoding{}.data(nil, make([]byte, maxZeros)) })

func (g gzipCoding) zeros(n int64) []byte {
	if n == maxZeros {
		return fullZeros()
	}
	return g.data(nil, make([]byte, n))
}
