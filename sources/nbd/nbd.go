// Package nbd reads a disk from an NBD server: one that is there already, or a command such as nbdkit that is started for
// the disk. It speaks fixed newstyle with structured replies and base:allocation, and never writes. It knows what a
// source's disk promises and nothing of the technology that is behind the server.
package nbd

import (
	"landfall/engine/fault"
)

const (
	magicInit   = 0x4e42444d41474943 // NBDMAGIC
	magicOption = 0x49484156454f5054 // IHAVEOPT
	magicReply  = 0x0003e889045565a9 // of an option

	magicRequest    = 0x25609513
	magicSimple     = 0x67446698
	magicStructured = 0x668e33ef

	flagFixed    = 1 << 0
	flagNoZeroes = 1 << 1

	optAbort      = 2
	optGo         = 7
	optStructured = 8
	optSetMeta    = 10

	repAck  = 1
	repInfo = 3
	repMeta = 4
	repErr  = 1 << 31

	infoExport = 0
	infoBlock  = 3

	transmitHasFlags  = 1 << 0
	transmitMultiConn = 1 << 8

	cmdRead   = 0
	cmdDisc   = 2
	cmdStatus = 7

	chunkDone   = 1 << 0
	chunkNone   = 0
	chunkData   = 1
	chunkHole   = 2
	chunkStatus = 5
	chunkError  = 1<<15 + 1
	chunkErrAt  = 1<<15 + 2

	stateZero = 1 << 1

	allocation = "base:allocation"
)

const (
	// most is the largest read that is ever asked for: servers with little memory die of larger ones.
	most = 1 << 20
	// mostStatus bounds one question about allocation.
	mostStatus = 1 << 30
	// mostPayload bounds what is believed of an answer's length.
	mostPayload = 8 << 20
	// mostOption bounds an answer during the handshake.
	mostOption = 64 << 10
)

// broken is an answer that is not of the protocol.
func broken(format string, args ...any) error {
	return fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "the answer is not NBD's: "+format, args...), "look what listens at the address")
}
