package nbd_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/sources/nbd"
)

// speak serves one connection: greeting, then the script's bytes as answers to whatever comes.
func speak(t testing.TB, script func(c net.Conn)) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
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
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(10 * time.Second))
				script(c)
			}()
		}
	}()
	return "nbd+unix:///?socket=" + url.QueryEscape(socket)
}

func greeting() []byte {
	b := binary.BigEndian.AppendUint64(nil, 0x4e42444d41474943)
	b = binary.BigEndian.AppendUint64(b, 0x49484156454f5054)
	return append(b, 0, 3)
}

func optionReply(opt, kind uint32, body []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, 0x0003e889045565a9)
	b = binary.BigEndian.AppendUint32(b, opt)
	b = binary.BigEndian.AppendUint32(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}

// shaken goes through the handshake of a disk of 1 MiB with structured replies.
func shaken(c net.Conn) {
	_, _ = c.Write(greeting())
	_, _ = io.CopyN(io.Discard, c, 4)
	for {
		var h [16]byte
		if _, err := io.ReadFull(c, h[:]); err != nil {
			return
		}
		opt := binary.BigEndian.Uint32(h[8:])
		_, _ = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(h[12:])))
		switch opt {
		case 10:
			_, _ = c.Write(optionReply(10, 4, append([]byte{0, 0, 0, 1}, "base:allocation"...)))
		case 7:
			info := binary.BigEndian.AppendUint64([]byte{0, 0}, mib)
			_, _ = c.Write(optionReply(7, 3, append(info, 0, 1)))
		}
		_, _ = c.Write(optionReply(opt, 1, nil))
		if opt == 7 {
			return
		}
	}
}

func structured(flags, kind uint16, cookie uint64, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, 0x668e33ef)
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint16(b, kind)
	b = binary.BigEndian.AppendUint64(b, cookie)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}

func at(offset uint64, p []byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, offset), p...)
}

func TestHostileHandshake(t *testing.T) {
	for name, bytes := range map[string][]byte{
		"nothing":         {},
		"a web server":    []byte("HTTP/1.1 400 Bad Request\r\n\r\nand more text here"),
		"an old server":   append(greeting()[:16], 0, 0),
		"a huge reply":    append(greeting(), optionReply(8, 1<<31+1, nil)[:16]...),
		"no size is told": append(append(greeting(), optionReply(8, 1<<31+1, nil)...), optionReply(7, 1, nil)...),
		"another option":  append(greeting(), optionReply(9, 1, nil)...),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a huge reply" {
				bytes = append(bytes, 0xff, 0xff, 0xff, 0xff)
			}
			uri := speak(t, func(c net.Conn) {
				_, _ = c.Write(bytes)
				_ = c.(*net.UnixConn).CloseWrite()
				_, _ = io.Copy(io.Discard, c)
			})
			d, err := nbd.Open(within(t), uri, mib)
			if err == nil {
				d.Close()
				t.Fatal("opened")
			}
			if fault.ClassOf(err) == "" || fault.HintOf(err) == "" {
				t.Errorf("%v has no class or hint", err)
			}
		})
	}
}

func TestHostileReplies(t *testing.T) {
	const size = 4096
	full := make([]byte, size)
	for name, reply := range map[string][]byte{
		"less than was asked":     structured(1, 1, 1, at(0, full[:512])),
		"more than was asked":     structured(1, 1, 1, at(0, make([]byte, size+1))),
		"before what was asked":   structured(1, 1, 1, at(1<<63, full)),
		"the same bytes twice":    append(structured(0, 1, 1, at(0, full)), structured(1, 1, 1, at(0, full[:1]))...),
		"a reply to nothing":      structured(1, 1, 77, at(0, full)),
		"a part of 4 GiB":         structured(1, 1, 1, nil)[:16],
		"allocation for a read":   structured(1, 5, 1, make([]byte, 12)),
		"an unknown part":         structured(1, 99, 1, nil),
		"a hole that is too long": structured(1, 2, 1, at(0, []byte{0xff, 0xff, 0xff, 0xff})),
		"unstructured":            {0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
		"no reply at all":         {1, 2, 3, 4},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a part of 4 GiB" {
				reply = append(reply, 0xff, 0xff, 0xff, 0xff)
			}
			uri := speak(t, func(c net.Conn) {
				shaken(c)
				_, _ = io.CopyN(io.Discard, c, 28)
				_, _ = c.Write(reply)
				_, _ = io.Copy(io.Discard, c)
			})
			d, err := nbd.Open(within(t), uri, mib)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if got, err := read(t, d, 0, size); err == nil {
				t.Errorf("%d bytes without an error", len(got))
			} else if fault.ClassOf(err) == "" {
				t.Errorf("%v has no class", err)
			}
		})
	}
}

// Whatever a server answers, nothing panics, hangs or comes out as whole that is not.
func FuzzReplies(f *testing.F) {
	full := make([]byte, 4096)
	f.Add(structured(1, 1, 1, at(0, full)))
	f.Add(append(structured(0, 2, 1, at(0, []byte{0, 0, 8, 0})), structured(1, 1, 1, at(2048, full[:2048]))...))
	f.Add(structured(1, 1<<15+1, 1, []byte{0, 0, 0, 5, 0, 2, 'n', 'o'}))
	f.Add(structured(1, 5, 1, []byte{0, 0, 0, 1, 0, 0, 16, 0, 0, 0, 0, 3}))
	f.Fuzz(func(t *testing.T, reply []byte) {
		uri := speak(t, func(c net.Conn) {
			shaken(c)
			_, _ = io.CopyN(io.Discard, c, 28)
			_, _ = c.Write(reply)
		})
		d, err := nbd.Open(within(t), uri, mib)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if got, err := read(t, d, 0, 4096); err == nil && len(got) != 4096 {
			t.Errorf("%d bytes as if whole", len(got))
		}
	})
}
