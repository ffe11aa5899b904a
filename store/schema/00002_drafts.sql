-- +goose Up

-- What people think about before they make a migration of it, and what the engine found; '' is not looked yet.
CREATE TABLE drafts (
	key      TEXT    NOT NULL PRIMARY KEY,
	asked    INTEGER NOT NULL,
	document TEXT    NOT NULL,
	preview  TEXT    NOT NULL
) STRICT;

-- How fast a host was read by the copies that ended well, to reckon with.
CREATE TABLE rates (
	host    TEXT    NOT NULL PRIMARY KEY,
	bytes   INTEGER NOT NULL,
	seconds REAL    NOT NULL,
	copies  INTEGER NOT NULL
) STRICT;
