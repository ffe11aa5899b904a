-- +goose Up

-- What a list shows of the migrations that follow a running source.
CREATE TABLE warm (
	migration TEXT    NOT NULL PRIMARY KEY REFERENCES migrations (uid),
	phase     TEXT    NOT NULL,
	gap       INTEGER NOT NULL, -- bytes; -1 is not known
	rounds    INTEGER NOT NULL,
	waiting   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO warm (migration, phase, gap, rounds, waiting)
SELECT uid, json_extract(status, '$.warm.phase'), -1,
	coalesce((SELECT max(coalesce(json_extract(w.value, '$.count'), 0)) FROM json_each(status, '$.warm.workers') w), 0),
	coalesce(json_extract(status, '$.warm.waiting'), '')
FROM migrations WHERE json_extract(status, '$.warm.phase') IS NOT NULL;
