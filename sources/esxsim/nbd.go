package esxsim

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/vmware/govmomi/vim25/types"
)

// The side by which ranges of a snapshot's disks are read while the VM runs,
// as nbdkit with VMware's VDDK would give them: NBD, read only. An export is
// named SNAPSHOT/KEY, with the disk's device key.

const (
	nbdGreeting    = 0x4e42444d41474943
	nbdHaveOption  = 0x49484156454f5054
	nbdOptionReply = 0x0003e889045565a9
	nbdRequest     = 0x25609513
	nbdChunk       = 0x668e33ef

	nbdAbort, nbdGo, nbdStructured, nbdMeta = 2, 7, 8, 10

	nbdAck, nbdInfo, nbdMetaContext        = 1, 3, 4
	nbdUnsupported, nbdUnknown      uint32 = 1<<31 | 1, 1<<31 | 6

	nbdRead, nbdDisconnect, nbdStatus = 0, 2, 7

	nbdData, nbdBlocks, nbdError = 1, 5, 1<<15 + 1

	nbdAllocation = "base:allocation"
	nbdMost       = 32 << 20
)

// nbdExport is a disk as a snapshot froze it.
type nbdExport struct {
	m    *machine
	d    *disk
	of   types.ManagedObjectReference
	size int64
}

func (s *Server) serveNBD(listen string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("nbd: %w", err)
	}
	s.nbd = l
	s.serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.serving.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				over := make(chan struct{})
				defer close(over)
				go func() {
					select {
					case <-s.closing:
						cancel()
					case <-over:
					}
					_ = c.Close()
				}()
				if err := s.speakNBD(ctx, c); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
					fmt.Fprintf(s.cfg.Log, "nbd: %v\n", err)
				}
			})
		}
	})
	return nil
}

func (s *Server) closeNBD() {
	if s.nbd != nil {
		_ = s.nbd.Close()
	}
}

// NBDAddress is where ranges of snapshots are read; empty without Config.NBD.
func (s *Server) NBDAddress() string {
	if s.nbd == nil {
		return ""
	}
	return s.nbd.Addr().String()
}

// export finds the disk that a name means.
func (s *Server) export(name string) (*nbdExport, error) {
	snapshot, text, _ := strings.Cut(name, "/")
	key, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("export %q is not SNAPSHOT/KEY", name)
	}
	of := types.ManagedObjectReference{Type: "VirtualMachineSnapshot", Value: snapshot}
	for _, m := range s.machines {
		for _, d := range m.disks {
			if d.key != int32(key) {
				continue
			}
			e := &nbdExport{m: m, d: d, of: of}
			if m.frozenView(d, of, func(*view) error { e.size = d.size; return nil }) == nil {
				return e, nil
			}
		}
	}
	return nil, fmt.Errorf("no disk %d in snapshot %q", key, snapshot)
}

func (s *Server) speakNBD(ctx context.Context, c net.Conn) error {
	be := binary.BigEndian
	hello := be.AppendUint64(be.AppendUint64(nil, nbdGreeting), nbdHaveOption)
	if _, err := c.Write(be.AppendUint16(hello, 3)); err != nil { // fixed newstyle, no zeros
		return err
	}
	r := bufio.NewReader(c)
	if _, err := r.Discard(4); err != nil {
		return err
	}
	e, err := s.agreeNBD(r, c)
	if err != nil || e == nil {
		return err
	}
	for {
		var b [28]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return err
		}
		cookie, off, length := b[8:16], int64(be.Uint64(b[16:])), int64(be.Uint32(b[24:]))
		if be.Uint32(b[:]) != nbdRequest || off < 0 {
			return errors.New("not a request")
		}
		var kind uint16
		var p []byte
		switch be.Uint16(b[6:]) {
		case nbdDisconnect:
			return nil
		case nbdRead:
			kind, p, err = nbdData, nil, syscall.EINVAL
			if length <= nbdMost && length <= e.size-off {
				p, err = s.readNBD(ctx, e, off, length)
			}
		case nbdStatus:
			kind = nbdBlocks
			p, err = e.blocks(off, length)
		default:
			err = syscall.EINVAL
		}
		if err != nil {
			errno := syscall.EIO
			_ = errors.As(err, &errno)
			kind, p = nbdError, be.AppendUint32(nil, uint32(errno))
			p = append(be.AppendUint16(p, uint16(len(err.Error()))), err.Error()...)
		}
		head := be.AppendUint32(nil, nbdChunk)
		head = be.AppendUint16(be.AppendUint16(head, 1), kind) // the only chunk of its reply
		head = be.AppendUint32(append(head, cookie...), uint32(len(p)))
		if _, err := (&net.Buffers{head, p}).WriteTo(c); err != nil {
			return err
		}
	}
}

// agreeNBD goes through the options until one begins the transmission; nil
// if the client went away.
func (s *Server) agreeNBD(r io.Reader, w io.Writer) (*nbdExport, error) {
	be := binary.BigEndian
	for {
		var b [16]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, err
		}
		opt, length := be.Uint32(b[8:]), be.Uint32(b[12:])
		if be.Uint64(b[:]) != nbdHaveOption || length > 64<<10 {
			return nil, errors.New("not an option")
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, err
		}
		reply := func(kind uint32, p []byte) error {
			out := be.AppendUint32(be.AppendUint64(nil, nbdOptionReply), opt)
			out = be.AppendUint32(be.AppendUint32(out, kind), uint32(len(p)))
			_, err := w.Write(append(out, p...))
			return err
		}
		var err error
		switch opt {
		case nbdAbort:
			return nil, reply(nbdAck, nil)
		case nbdStructured:
			err = reply(nbdAck, nil)
		case nbdMeta:
			if strings.Contains(string(body), nbdAllocation) {
				err = reply(nbdMetaContext, append([]byte{0, 0, 0, 1}, nbdAllocation...))
			}
			if err == nil {
				err = reply(nbdAck, nil)
			}
		case nbdGo:
			name := ""
			if n := uint32(0); len(body) >= 4 {
				if n = be.Uint32(body); n <= length-4 {
					name = string(body[4 : 4+n])
				}
			}
			e, no := s.export(name)
			if no != nil {
				err = reply(nbdUnknown, []byte(no.Error()))
				break
			}
			info := be.AppendUint64([]byte{0, 0}, uint64(e.size))
			if err = reply(nbdInfo, be.AppendUint16(info, 1|1<<1|1<<8)); err == nil { // flags; read only; many connections
				return e, reply(nbdAck, nil)
			}
		default:
			err = reply(nbdUnsupported, nil)
		}
		if err != nil {
			return nil, err
		}
	}
}

// readNBD gives the offset and the bytes, as fast as the host's rate lets it.
func (s *Server) readNBD(ctx context.Context, e *nbdExport, off, length int64) ([]byte, error) {
	p := binary.BigEndian.AppendUint64(make([]byte, 0, 8+length), uint64(off))
	p = p[:8+length]
	if err := e.m.frozenRead(e.d, e.of, p[8:], off); err != nil {
		return nil, err
	}
	for left := int(length); left > 0; {
		l := s.rate.Load()
		if l == nil {
			break
		}
		n := min(left, l.Burst())
		if err := l.WaitN(ctx, n); err != nil {
			return nil, err
		}
		left -= n
	}
	return p, nil
}

// blocks tells what of a range may hold data.
func (e *nbdExport) blocks(off, length int64) ([]byte, error) {
	be := binary.BigEndian
	p := be.AppendUint32(nil, 1)
	end := off + min(length, e.size-off)
	add := func(to int64, state uint32) {
		if to = min(to, end); to > off {
			p = be.AppendUint32(be.AppendUint32(p, uint32(to-off)), state)
			off = to
		}
	}
	err := e.m.frozenView(e.d, e.of, func(v *view) error {
		areas, err := v.areas(changeGrain)
		for _, a := range areas {
			add(a.Offset, 3) // a hole that reads as zeros
			if a.Offset+a.Length > off {
				add(a.Offset+a.Length, 0)
			}
		}
		add(end, 3)
		return err
	})
	return p, err
}
