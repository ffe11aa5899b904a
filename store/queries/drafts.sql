-- name: PutDraft :exec
INSERT INTO drafts (key, asked, document, preview) VALUES (?, ?, ?, '')
ON CONFLICT (key) DO UPDATE SET asked = max(excluded.asked, drafts.asked + 1), document = excluded.document;

-- name: Drafts :many
SELECT * FROM drafts ORDER BY key;

-- name: DraftAsked :one
SELECT asked FROM drafts WHERE key = ?;

-- name: PutPreview :exec
UPDATE drafts SET preview = ? WHERE key = ?;

-- name: ForgetDraft :execrows
DELETE FROM drafts WHERE key = ?;
