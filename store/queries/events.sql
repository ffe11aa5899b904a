-- name: AddEvent :exec
INSERT INTO events (migration, at, level, phase, reason, message) VALUES (?, ?, ?, ?, ?, ?);

-- name: Events :many
SELECT * FROM events WHERE migration = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: AllEvents :many
SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?;
