package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"

	"landfall/engine/fault"
	"landfall/sources"
	"landfall/store/db"
)

// packed keeps areas as differences: a sorted list takes a few bytes for each.
func packed(all []sources.Extent) []byte {
	b := make([]byte, 0, 6*len(all))
	var end int64
	for _, e := range all {
		b = binary.AppendVarint(b, e.Offset-end)
		b = binary.AppendVarint(b, e.Length)
		end = e.End()
	}
	return b
}

func unpacked(b []byte) ([]sources.Extent, error) {
	var all []sources.Extent
	var end int64
	for len(b) > 0 {
		gap, n := binary.Varint(b)
		if n <= 0 {
			return nil, fault.Newf(fault.Permanent, fault.Damaged, "the list is cut short")
		}
		length, n2 := binary.Varint(b[n:])
		if n2 <= 0 {
			return nil, fault.Newf(fault.Permanent, fault.Damaged, "the list is cut short")
		}
		e := sources.Extent{Offset: end + gap, Length: length}
		all, end, b = append(all, e), e.End(), b[n+n2:]
	}
	return all, nil
}

// putExtents writes the areas of those disks whose areas changed; areas[i] is of the i-th disk, empty for none.
func putExtents(ctx context.Context, q *db.Queries, uid string, areas [][]byte) error {
	rows, err := q.ExtentDigests(ctx, uid)
	if err != nil {
		return err
	}
	there := make(map[int64][]byte, len(rows))
	for _, r := range rows {
		there[r.Disk] = r.Digest
	}
	for i, a := range areas {
		if len(a) == 0 {
			continue
		}
		sum := sha256.Sum256(a)
		same := bytes.Equal(there[int64(i)], sum[:])
		delete(there, int64(i))
		if same {
			continue
		}
		if err := q.PutExtents(ctx, db.PutExtentsParams{Migration: uid, Disk: int64(i), Digest: sum[:], Areas: a}); err != nil {
			return err
		}
	}
	for disk := range there {
		if err := q.DropExtents(ctx, db.DropExtentsParams{Migration: uid, Disk: disk}); err != nil {
			return err
		}
	}
	return nil
}
