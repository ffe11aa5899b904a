-- name: Ledger :one
SELECT id FROM ledgers WHERE migration = ? AND disk = ?;

-- name: AddLedger :one
INSERT INTO ledgers (migration, disk) VALUES (?, ?) RETURNING id;

-- name: DropLedger :exec
DELETE FROM ledgers WHERE migration = ? AND disk = ?;

-- name: ChunkRun :one
SELECT digest, sums FROM chunks WHERE ledger = ? AND segment = ?;

-- name: PutChunkRun :exec
INSERT INTO chunks (ledger, segment, digest, sums) VALUES (?, ?, ?, ?)
ON CONFLICT (ledger, segment) DO UPDATE SET digest = excluded.digest, sums = excluded.sums;

-- name: CountChunkRuns :one
SELECT count(*) FROM chunks c JOIN ledgers l ON l.id = c.ledger WHERE l.migration = ? AND l.disk = ?;

-- name: ChunkRuns :many
SELECT c.segment, c.digest, c.sums FROM chunks c JOIN ledgers l ON l.id = c.ledger
WHERE l.migration = ? AND l.disk = ? AND c.segment >= ? ORDER BY c.segment LIMIT 256;
