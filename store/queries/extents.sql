-- name: Extents :many
SELECT disk, areas FROM extents WHERE migration = ? ORDER BY disk;

-- name: ActiveExtents :many
SELECT e.migration, e.disk, e.areas FROM extents e JOIN migrations m ON m.uid = e.migration WHERE m.ended = 0;

-- name: ExtentDigests :many
SELECT disk, digest FROM extents WHERE migration = ?;

-- name: PutExtents :exec
INSERT INTO extents (migration, disk, digest, areas) VALUES (?, ?, ?, ?)
ON CONFLICT (migration, disk) DO UPDATE SET digest = excluded.digest, areas = excluded.areas;

-- name: DropExtents :exec
DELETE FROM extents WHERE migration = ? AND disk = ?;
