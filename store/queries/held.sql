-- name: Hold :exec
INSERT INTO held (migration, kind, place, name, since, keep, note) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (migration, kind, place, name) DO UPDATE SET keep = excluded.keep, note = excluded.note;

-- name: StrikeOff :exec
DELETE FROM held WHERE migration = ? AND kind = ? AND place = ? AND name = ?;

-- name: Held :many
SELECT * FROM held WHERE migration = ? ORDER BY seq;
