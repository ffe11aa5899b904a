package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/transfer"
	"landfall/store/db"
)

// A segment is a run of chunks in one row: which of them are there, then their sums. It is as long as fits one page, so
// that recording a batch touches few pages, and a ledger takes 34 bytes for a chunk.
const (
	segmentChunks = 120
	segmentMap    = segmentChunks / 8
	segmentSize   = segmentMap + segmentChunks*32
)

// maxChunk bounds an index: 64 TiB in chunks of 1 KiB.
const maxChunk = 1 << 36

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type ledger struct {
	s    *Store
	uid  string
	disk int
}

// Ledger is the chunk ledger of one disk's artifact. Records do not raise the change number.
func (s *Store) Ledger(uid string, disk int) transfer.Ledger { return &ledger{s, uid, disk} }

// ResetLedger forgets the chunks of a disk.
func (s *Store) ResetLedger(ctx context.Context, uid string, disk int) error {
	return s.write(ctx, fmt.Sprintf("reset the ledger of disk %d of %s", disk, short(uid)), "ledger reset", func(q *db.Queries) error {
		return q.DropLedger(ctx, db.DropLedgerParams{Migration: uid, Disk: int64(disk)})
	})
}

func (l *ledger) name() string { return fmt.Sprintf("ledger of disk %d of %s", l.disk, short(l.uid)) }

// Record adds chunks and is durable when it returns.
func (l *ledger) Record(ctx context.Context, chunks []transfer.Chunk) error {
	parts := make(map[int64][]transfer.Chunk)
	for _, c := range chunks {
		if c.Index < 0 || c.Index > maxChunk {
			return fault.Newf(fault.Permanent, fault.Refused, "record in the %s: no chunk has index %d", l.name(), c.Index)
		}
		parts[c.Index/segmentChunks] = append(parts[c.Index/segmentChunks], c)
	}
	if len(parts) == 0 {
		return nil
	}
	return l.s.write(ctx, "record in the "+l.name(), "ledger", func(q *db.Queries) error {
		id, err := q.Ledger(ctx, db.LedgerParams{Migration: l.uid, Disk: int64(l.disk)})
		if errors.Is(err, sql.ErrNoRows) {
			id, err = q.AddLedger(ctx, db.AddLedgerParams{Migration: l.uid, Disk: int64(l.disk)})
		}
		if orphan(err) {
			return engine.ErrNotFound
		}
		if err != nil {
			return err
		}
		for _, n := range slices.Sorted(maps.Keys(parts)) {
			seg, err := segment(ctx, q, id, n)
			if err != nil {
				return err
			}
			for _, c := range parts[n] {
				i := c.Index % segmentChunks
				seg[i/8] |= 1 << (i % 8)
				copy(seg[segmentMap+32*i:], c.Sum[:])
			}
			if err := q.PutChunkRun(ctx, db.PutChunkRunParams{Ledger: id, Segment: n, Digest: digest(seg), Sums: seg}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Forget takes chunks out and is durable when it returns.
func (l *ledger) Forget(ctx context.Context, chunks []int64) error {
	parts := make(map[int64][]int64)
	for _, i := range chunks {
		if i < 0 || i > maxChunk {
			return fault.Newf(fault.Permanent, fault.Refused, "forget in the %s: no chunk has index %d", l.name(), i)
		}
		parts[i/segmentChunks] = append(parts[i/segmentChunks], i%segmentChunks)
	}
	if len(parts) == 0 {
		return nil
	}
	return l.s.write(ctx, "forget in the "+l.name(), "ledger", func(q *db.Queries) error {
		id, err := q.Ledger(ctx, db.LedgerParams{Migration: l.uid, Disk: int64(l.disk)})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, n := range slices.Sorted(maps.Keys(parts)) {
			seg, err := segment(ctx, q, id, n)
			if err != nil {
				return err
			}
			for _, i := range parts[n] {
				seg[i/8] &^= 1 << (i % 8)
				clear(seg[segmentMap+32*i : segmentMap+32*i+32])
			}
			if err := q.PutChunkRun(ctx, db.PutChunkRunParams{Ledger: id, Segment: n, Digest: digest(seg), Sums: seg}); err != nil {
				return err
			}
		}
		return nil
	})
}

func segment(ctx context.Context, q *db.Queries, ledger, n int64) ([]byte, error) {
	r, err := q.ChunkRun(ctx, db.ChunkRunParams{Ledger: ledger, Segment: n})
	if errors.Is(err, sql.ErrNoRows) {
		return make([]byte, segmentSize), nil
	}
	if err != nil {
		return nil, err
	}
	return r.Sums, sound(r.Sums, r.Digest)
}

// Load gives all recorded chunks, by index.
func (l *ledger) Load(ctx context.Context) (all []transfer.Chunk, err error) {
	err = l.s.read(ctx, "load the "+l.name(), func(q *db.Queries) error {
		n, err := q.CountChunkRuns(ctx, db.CountChunkRunsParams{Migration: l.uid, Disk: int64(l.disk)})
		if err != nil {
			return err
		}
		all = make([]transfer.Chunk, 0, n*segmentChunks)
		for from := int64(0); ; {
			rows, err := q.ChunkRuns(ctx, db.ChunkRunsParams{Migration: l.uid, Disk: int64(l.disk), Segment: from})
			if err != nil || len(rows) == 0 {
				return err
			}
			for _, r := range rows {
				if err := sound(r.Sums, r.Digest); err != nil {
					return err
				}
				all = chunksOf(all, r.Segment, r.Sums)
			}
			from = rows[len(rows)-1].Segment + 1
		}
	})
	return all, err
}

func chunksOf(all []transfer.Chunk, segment int64, sums []byte) []transfer.Chunk {
	for i := range int64(segmentChunks) {
		if sums[i/8]&(1<<(i%8)) != 0 {
			at := segmentMap + 32*i
			all = append(all, transfer.Chunk{Index: segment*segmentChunks + i, Sum: [32]byte(sums[at : at+32])})
		}
	}
	return all
}

func digest(seg []byte) int64 { return int64(crc32.Checksum(seg, castagnoli)) }

// sound refuses a segment that is not what was recorded: SQLite does not notice a byte that changed within a value.
func sound(seg []byte, sum int64) error {
	if len(seg) != segmentSize || digest(seg) != sum {
		return fault.Hint(fault.Newf(fault.Permanent, fault.Damaged, "its sums are damaged"),
			"the disk must be read again: cancel the migration and start a new one, and check this host's disk")
	}
	return nil
}
