-- name: AddRate :exec
INSERT INTO rates (host, bytes, seconds, copies) VALUES (?, ?, ?, 1)
ON CONFLICT (host) DO UPDATE SET
	-- what is older weighs half as much with every copy, so that a host that became faster is soon known to be
	bytes = excluded.bytes + rates.bytes / 2, seconds = excluded.seconds + rates.seconds / 2, copies = rates.copies + 1;

-- name: Rate :one
SELECT bytes, seconds, copies FROM rates WHERE host = ?;
