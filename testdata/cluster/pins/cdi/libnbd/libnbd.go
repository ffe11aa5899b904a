// Package libnbd stands in for the Go binding of the C library of that name, which CDI's importer uses for the source VDDK
// alone. It has the names that the importer compiles against, and connects to nothing: who asks gets an error.
package libnbd

// What the importer asks of a range, and what it is told.
const (
	CMD_FLAG_REQ_ONE = 1 << 3
	STATE_HOLE       = 1 << 0
	STATE_ZERO       = 1 << 1
)

// LibnbdError is what every call answers.
type LibnbdError struct{ Op, Errmsg string }

func (e *LibnbdError) Error() string { return e.Op + ": " + e.Errmsg }

func missing(op string) *LibnbdError { return &LibnbdError{op, "libnbd is not in this build"} }

// Libnbd is a connection that cannot be made.
type Libnbd struct{}

// The arguments of calls.
type (
	PreadOptargs struct {
		FlagsSet bool
		Flags    uint32
	}
	BlockStatusOptargs struct {
		FlagsSet bool
		Flags    uint32
	}
	ExtentCallback func(metacontext string, offset uint64, entries []uint32, err *int) int
)

func Create() (*Libnbd, error) { return nil, missing("nbd_create") }

func (*Libnbd) AddMetaContext(string) error               { return missing("nbd_add_meta_context") }
func (*Libnbd) ConnectUri(string) error                   { return missing("nbd_connect_uri") }
func (*Libnbd) Pread([]byte, uint64, *PreadOptargs) error { return missing("nbd_pread") }
func (*Libnbd) GetSize() (uint64, error)                  { return 0, missing("nbd_get_size") }
func (*Libnbd) Close() *LibnbdError                       { return nil }
func (*Libnbd) BlockStatus(uint64, uint64, ExtentCallback, *BlockStatusOptargs) error {
	return missing("nbd_block_status")
}
