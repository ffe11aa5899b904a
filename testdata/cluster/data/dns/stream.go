package dns

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"time"
)

// streams answers those who ask over TCP.
func (n names) streams(ctx context.Context, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go n.stream(ctx, c)
	}
}

func (n names) stream(ctx context.Context, c net.Conn) {
	defer c.Close()
	for {
		if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return
		}
		var size uint16
		if err := binary.Read(c, binary.BigEndian, &size); err != nil {
			return
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(c, b); err != nil {
			return
		}
		answer, err := n.answer(ctx, b)
		if err != nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}
