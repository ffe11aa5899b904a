-- +goose Up

-- What people think about before they make a migration of it, and what the engine found; '' is not looked yet.
CREATE TABLE drafts (
	key      TEXT    NOT NULL PRIMARY KEY,
	asked    INTEGER NOT NULL,
	document TEXT    NOT NULL,
	preview  TEXT    NOT NULL
) STRICT;
