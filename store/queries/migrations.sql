-- name: AddMigration :exec
INSERT INTO migrations (
	uid, name, generation, want, retry, created, created_by, version, endpoint, moref, instance_uuid,
	phase, resume, ended, not_until, vm, source, namespace, target, reason, message, done, total, rate, eta, queue,
	since, progress, at_created, at_started, at_off, at_acquired, at_imported, at_running, at_completed, document, status
) VALUES (
	?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
	?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
	?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
);

-- name: SaveStatus :execrows
UPDATE migrations SET
	version = version + 1, moref = ?, instance_uuid = ?,
	phase = ?, resume = ?, ended = ?, not_until = ?, vm = ?, namespace = ?, target = ?, reason = ?, message = ?,
	done = ?, total = ?, rate = ?, eta = ?, queue = ?, since = ?, progress = ?,
	at_created = ?, at_started = ?, at_off = ?, at_acquired = ?, at_imported = ?, at_running = ?, at_completed = ?,
	status = ?
WHERE uid = ? AND version = ?;

-- name: SaveDocument :execrows
UPDATE migrations SET
	generation = generation + 1, name = ?, endpoint = ?, moref = ?, instance_uuid = ?,
	vm = ?, source = ?, namespace = ?, target = ?, document = ?
WHERE uid = ? AND generation = ? AND ended = 0;

-- name: SetWant :execrows
UPDATE migrations SET want = ? WHERE uid = ? AND ended = 0;

-- name: RaiseRetry :execrows
UPDATE migrations SET retry = retry + 1 WHERE uid = ? AND ended = 0;

-- name: Migration :one
SELECT uid, generation, want, retry, created, created_by, version, document, status FROM migrations WHERE uid = ?;

-- name: Active :many
SELECT uid, generation, want, retry, created, created_by, version, document, status FROM migrations WHERE ended = 0 ORDER BY seq;

-- name: Standing :one
SELECT version, generation, phase, ended, document FROM migrations WHERE uid = ?;

-- name: Lines :many
SELECT
	m.uid, m.name, m.vm, m.source, m.moref, m.instance_uuid, m.namespace, m.target, m.phase, m.resume, m.reason, m.message, m.want,
	m.done, m.total, m.rate, m.eta, m.queue, m.created, m.since, m.progress, m.not_until,
	m.at_created, m.at_started, m.at_off, m.at_acquired, m.at_imported, m.at_running, m.at_completed,
	(SELECT count(*) FROM decisions d WHERE d.migration = m.uid AND d.answer = '' AND d.closed = 0) AS questions,
	coalesce(w.phase, '') AS warm_phase, coalesce(w.gap, -1) AS gap, coalesce(w.rounds, 0) AS rounds, coalesce(w.waiting, '') AS waiting
FROM migrations m LEFT JOIN warm w ON w.migration = m.uid ORDER BY m.seq DESC;

-- name: PutWarm :exec
INSERT INTO warm (migration, phase, gap, rounds, waiting) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (migration) DO UPDATE SET phase = excluded.phase, gap = excluded.gap, rounds = excluded.rounds, waiting = excluded.waiting;

-- name: Identities :many
SELECT uid, phase, endpoint, moref, instance_uuid FROM migrations ORDER BY seq;

-- name: Candidates :many
SELECT uid, name, phase FROM migrations WHERE name = sqlc.arg(name) OR (uid >= sqlc.arg(low) AND uid < sqlc.arg(high)) ORDER BY seq DESC;

-- name: SameVM :one
SELECT uid, name, phase FROM migrations
WHERE ended = 0 AND uid <> sqlc.arg(uid) AND endpoint = sqlc.arg(endpoint)
	AND ((moref = sqlc.arg(moref) AND moref <> '') OR (instance_uuid = sqlc.arg(instance) AND instance_uuid <> ''))
LIMIT 1;
