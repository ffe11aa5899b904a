-- name: AskDecision :exec
INSERT INTO decisions (
	id, migration, kind, subject, phase, question, why, value, options, opened, version, answer, by_name, by_from, answered, closed
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, '', '', '', 0, 0);

-- name: Decision :one
SELECT * FROM decisions WHERE id = ?;

-- name: Decisions :many
SELECT * FROM decisions WHERE migration = ? ORDER BY seq;

-- name: Waiting :many
SELECT * FROM decisions WHERE answer = '' AND closed = 0 ORDER BY seq;

-- name: AnswerDecision :execrows
UPDATE decisions SET version = version + 1, answer = ?, by_name = ?, by_from = ?, answered = ?
WHERE id = ? AND version = ? AND answer = '' AND closed = 0;

-- name: CloseAllDecisions :exec
UPDATE decisions SET version = version + 1, closed = ? WHERE migration = ? AND closed = 0;

-- name: CloseDecision :exec
UPDATE decisions SET version = version + 1, closed = ? WHERE id = ? AND closed = 0;
