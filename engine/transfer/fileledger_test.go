package transfer_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"landfall/engine/boundary"
	"landfall/engine/transfer"
)

// fileLedger is a ledger as a line per chunk, synced.
type fileLedger struct{ path string }

func (l fileLedger) Load(context.Context) ([]transfer.Chunk, error) {
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []transfer.Chunk
	for lines := bufio.NewScanner(f); lines.Scan(); {
		index, sum, _ := strings.Cut(lines.Text(), " ")
		i, err := strconv.ParseInt(index, 10, 64)
		if sum == "-" {
			out = slices.DeleteFunc(out, func(c transfer.Chunk) bool { return c.Index == i })
			continue
		}
		b, err2 := hex.DecodeString(sum)
		if err != nil || err2 != nil || len(b) != len(transfer.Sum{}) {
			return nil, fmt.Errorf("ledger line %q", lines.Text())
		}
		out = append(out, transfer.Chunk{Index: i, Sum: transfer.Sum(b)})
	}
	return out, nil
}

func (l fileLedger) Record(_ context.Context, chunks []transfer.Chunk) error {
	var b []byte
	for _, c := range chunks {
		b = fmt.Appendf(b, "%d %s\n", c.Index, c.Sum)
	}
	return l.append(b)
}

// Forget takes chunks out, by a line for each.
func (l fileLedger) Forget(_ context.Context, chunks []int64) error {
	var b []byte
	for _, i := range chunks {
		b = fmt.Appendf(b, "%d -\n", i)
	}
	return l.append(b)
}

func (l fileLedger) append(b []byte) error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	boundary.Cross(boundary.Commit, l.path)
	if _, err := f.Write(b); err != nil { // one write: whole or, to a killed process, not at all
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	boundary.Cross(boundary.Commit, l.path)
	return nil
}

// discard is a ledger that forgets.
type discard struct{}

func (discard) Load(context.Context) ([]transfer.Chunk, error) { return nil, nil }
func (discard) Record(context.Context, []transfer.Chunk) error { return nil }
func (discard) Forget(context.Context, []int64) error          { return nil }
