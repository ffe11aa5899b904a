-- name: Endpoints :many
SELECT * FROM endpoints ORDER BY name;

-- name: Endpoint :one
SELECT * FROM endpoints WHERE name = ?;

-- name: PutEndpoint :exec
INSERT INTO endpoints (name, source, target, defaults, asked, taken, about, failure) VALUES (?, ?, ?, ?, ?, 0, '', '')
ON CONFLICT (name) DO UPDATE SET source = excluded.source, target = excluded.target, defaults = excluded.defaults, asked = excluded.asked;

-- name: ForgetInventory :exec
UPDATE endpoints SET taken = 0, about = '', failure = '' WHERE name = ?;

-- name: AskRefresh :execrows
UPDATE endpoints SET asked = ?, failure = '' WHERE name = ?;

-- name: InventoryTaken :execrows
UPDATE endpoints SET taken = ?, about = ?, failure = '' WHERE name = ?;

-- name: InventoryFailed :execrows
UPDATE endpoints SET failure = ? WHERE name = ?;

-- name: DropInventory :exec
DELETE FROM inventory WHERE endpoint = ?;

-- name: AddListed :exec
INSERT INTO inventory (endpoint, place, vm) VALUES (?, ?, ?);

-- name: Inventory :many
SELECT endpoint, vm FROM inventory ORDER BY endpoint, place;
