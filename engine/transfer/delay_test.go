package transfer_test

import (
	"net"
	"testing"
	"time"
)

// delayed puts a proxy before an address that holds every byte back for half of the round trip, each way, and does not
// limit the rate: what is on its way is bounded only by what a fast long line would hold.
func delayed(t testing.TB, address string, roundTrip time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				s, err := net.Dial("tcp", address)
				if err != nil {
					c.Close()
					return
				}
				go hold(s, c, roundTrip/2)
				hold(c, s, roundTrip/2)
			}()
		}
	}()
	return l.Addr().String()
}

type held struct {
	due time.Time
	p   []byte
}

// hold passes on what comes from src, later, and ends both when either ends.
func hold(dst, src net.Conn, d time.Duration) {
	line := make(chan held, 128)
	go func() {
		defer close(line)
		for {
			p := make([]byte, 128<<10)
			n, err := src.Read(p)
			if n > 0 {
				line <- held{time.Now().Add(d), p[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for h := range line {
		time.Sleep(time.Until(h.due))
		if _, err := dst.Write(h.p); err != nil {
			break
		}
	}
	dst.Close()
	src.Close()
	for range line { // its sender must not be left behind
	}
}
