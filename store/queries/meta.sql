-- name: RaiseFeed :exec
UPDATE feed SET number = number + 1;

-- name: Feed :one
SELECT number FROM feed;

-- name: Beat :exec
INSERT INTO heartbeat (one, pid, host, version, started, beat, permits) VALUES (1, ?, ?, ?, ?, ?, ?)
ON CONFLICT (one) DO UPDATE SET pid = excluded.pid, host = excluded.host, version = excluded.version,
	started = excluded.started, beat = excluded.beat, permits = excluded.permits;

-- name: LastBeat :one
SELECT pid, host, version, started, beat, permits FROM heartbeat;

-- name: AddNote :exec
INSERT INTO audit (at, by_name, by_from, what, migration) VALUES (?, ?, ?, ?, ?);

-- name: Notes :many
SELECT * FROM audit WHERE migration = ? ORDER BY seq;

-- name: AllNotes :many
SELECT * FROM audit ORDER BY seq;
