package nbd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"landfall/engine/fault"
)

// export is what a server told of itself.
type export struct {
	size       int64
	largest    int64 // bytes of one read
	multi      bool  // several connections see the same bytes
	structured bool
	context    uint32 // of base:allocation
	status     bool   // allocation can be asked
}

// shake goes through the handshake to the transmission.
func shake(rw io.ReadWriter, name string) (export, error) {
	h := &shaking{rw: rw, e: export{largest: most}}
	err := h.greet()
	if err == nil {
		err = h.features(name)
	}
	if err == nil {
		err = h.start(name)
	}
	return h.e, err
}

type shaking struct {
	rw io.ReadWriter
	e  export
}

func (h *shaking) greet() error {
	var b [18]byte
	if _, err := io.ReadFull(h.rw, b[:]); err != nil {
		return err
	}
	be := binary.BigEndian
	if be.Uint64(b[:]) != magicInit || be.Uint64(b[8:]) != magicOption {
		return broken("it does not greet as a server")
	}
	flags := be.Uint16(b[16:])
	if flags&flagFixed == 0 {
		return broken("an old server, without fixed newstyle")
	}
	var out [4]byte
	be.PutUint32(out[:], uint32(flags&(flagFixed|flagNoZeroes)))
	_, err := h.rw.Write(out[:])
	return err
}

// features asks for structured replies, and with them for allocation. A server that knows neither is still read.
func (h *shaking) features(name string) error {
	err := h.option(optStructured, nil, func(uint32, []byte) error { return nil })
	if refused(err) {
		return nil
	}
	if err != nil {
		return err
	}
	h.e.structured = true
	body := binary.BigEndian.AppendUint32(nil, uint32(len(name)))
	body = append(body, name...)
	body = binary.BigEndian.AppendUint32(body, 1)
	body = binary.BigEndian.AppendUint32(body, uint32(len(allocation)))
	body = append(body, allocation...)
	err = h.option(optSetMeta, body, func(kind uint32, p []byte) error {
		if kind == repMeta && len(p) >= 4 && string(p[4:]) == allocation {
			h.e.context, h.e.status = binary.BigEndian.Uint32(p), true
		}
		return nil
	})
	if refused(err) {
		return nil
	}
	return err
}

func (h *shaking) start(name string) error {
	body := binary.BigEndian.AppendUint32(nil, uint32(len(name)))
	body = append(body, name...)
	body = append(body, 0, 1, 0, infoBlock) // one information is asked for
	told := false
	err := h.option(optGo, body, func(kind uint32, p []byte) error {
		if kind != repInfo || len(p) < 2 {
			return nil
		}
		be := binary.BigEndian
		switch be.Uint16(p) {
		case infoExport:
			if len(p) < 12 || be.Uint64(p[2:]) > 1<<62 {
				return broken("its size")
			}
			flags := be.Uint16(p[10:])
			h.e.size, told = int64(be.Uint64(p[2:])), true
			h.e.multi = flags&transmitHasFlags != 0 && flags&transmitMultiConn != 0
		case infoBlock:
			if len(p) < 14 {
				return broken("its block sizes")
			}
			if least := int64(be.Uint32(p[2:])); least < 1 || least > 64<<10 {
				return broken("a smallest block of %d bytes", least)
			}
			if largest := int64(be.Uint32(p[10:])); largest >= 4096 {
				h.e.largest = min(most, largest)
			}
		}
		return nil
	})
	if refused(err) {
		return fault.Hint(fault.Newf(fault.Blocked, fault.NotFound, "the server refuses export %q: %w", name, err), "look which exports it has: nbdinfo --list")
	}
	if err == nil && !told {
		err = broken("it tells no size")
	}
	return err
}

// refusedError is the server's no to an option.
type refusedError struct {
	code uint32
	text string
}

func (e *refusedError) Error() string {
	if e.text != "" {
		return e.text
	}
	return fmt.Sprintf("error %d", e.code&^repErr)
}

func refused(err error) bool {
	var no *refusedError
	return errors.As(err, &no)
}

// option sends one and hands its replies on until the server has acknowledged it.
func (h *shaking) option(opt uint32, body []byte, each func(kind uint32, p []byte) error) error {
	be := binary.BigEndian
	out := be.AppendUint64(nil, magicOption)
	out = be.AppendUint32(out, opt)
	out = be.AppendUint32(out, uint32(len(body)))
	if _, err := h.rw.Write(append(out, body...)); err != nil {
		return err
	}
	for range 64 {
		var b [20]byte
		if _, err := io.ReadFull(h.rw, b[:]); err != nil {
			return err
		}
		kind, length := be.Uint32(b[12:]), be.Uint32(b[16:])
		if be.Uint64(b[:]) != magicReply || be.Uint32(b[8:]) != opt || length > mostOption {
			return broken("a reply to option %d of %d bytes", be.Uint32(b[8:]), length)
		}
		p := make([]byte, length)
		if _, err := io.ReadFull(h.rw, p); err != nil {
			return err
		}
		switch {
		case kind == repAck:
			return nil
		case kind&repErr != 0:
			return &refusedError{kind, string(p[:min(len(p), 300)])}
		}
		if err := each(kind, p); err != nil {
			return err
		}
	}
	return broken("too many replies to one option")
}
