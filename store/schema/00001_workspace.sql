-- +goose Up

-- Moments are nanoseconds since 1970 in UTC; 0 is "not yet". Documents are JSON. What a list shows stands before the
-- documents, so that reading a list never walks through them.

CREATE TABLE migrations (
	seq           INTEGER PRIMARY KEY,
	uid           TEXT    NOT NULL UNIQUE,
	name          TEXT    NOT NULL,
	generation    INTEGER NOT NULL,
	want          TEXT    NOT NULL CHECK (want IN ('run', 'cancel')),
	retry         INTEGER NOT NULL,
	created       INTEGER NOT NULL,
	created_by    TEXT    NOT NULL,
	version       INTEGER NOT NULL,
	-- where the VM is, in one spelling, and which one it is; '' is not known
	endpoint      TEXT    NOT NULL,
	moref         TEXT    NOT NULL,
	instance_uuid TEXT    NOT NULL,
	-- the line of a list
	phase         TEXT    NOT NULL,
	resume        TEXT    NOT NULL,
	ended         INTEGER NOT NULL CHECK (ended IN (0, 1)),
	not_until     INTEGER NOT NULL,
	vm            TEXT    NOT NULL,
	source        TEXT    NOT NULL,
	namespace     TEXT    NOT NULL,
	target        TEXT    NOT NULL,
	reason        TEXT    NOT NULL,
	message       TEXT    NOT NULL,
	done          INTEGER NOT NULL,
	total         INTEGER NOT NULL,
	rate          REAL    NOT NULL,
	eta           REAL    NOT NULL,
	queue         INTEGER NOT NULL,
	since         INTEGER NOT NULL,
	progress      INTEGER NOT NULL,
	at_created    INTEGER NOT NULL,
	at_started    INTEGER NOT NULL,
	at_off        INTEGER NOT NULL,
	at_acquired   INTEGER NOT NULL,
	at_imported   INTEGER NOT NULL,
	at_running    INTEGER NOT NULL,
	at_completed  INTEGER NOT NULL,
	document      TEXT    NOT NULL,
	status        TEXT    NOT NULL
) STRICT;

CREATE INDEX migrations_active ON migrations (seq) WHERE ended = 0;
CREATE INDEX migrations_name ON migrations (name);
-- A VM is moved by one migration at a time.
CREATE UNIQUE INDEX one_by_moref ON migrations (endpoint, moref) WHERE ended = 0 AND moref <> '';
CREATE UNIQUE INDEX one_by_instance ON migrations (endpoint, instance_uuid) WHERE ended = 0 AND instance_uuid <> '';

-- The areas that a source calls allocated: found once and long, so they are kept out of the status that is written twice
-- a second.
CREATE TABLE extents (
	migration TEXT    NOT NULL REFERENCES migrations (uid),
	disk      INTEGER NOT NULL,
	digest    BLOB    NOT NULL,
	areas     BLOB    NOT NULL,
	UNIQUE (migration, disk)
) STRICT;

CREATE TABLE decisions (
	seq         INTEGER PRIMARY KEY,
	id          TEXT    NOT NULL UNIQUE,
	migration   TEXT    NOT NULL REFERENCES migrations (uid),
	kind        TEXT    NOT NULL,
	subject     TEXT    NOT NULL,
	phase       TEXT    NOT NULL,
	question    TEXT    NOT NULL,
	why         TEXT    NOT NULL,
	value       TEXT    NOT NULL,
	options     TEXT    NOT NULL,
	opened      INTEGER NOT NULL,
	version     INTEGER NOT NULL,
	answer      TEXT    NOT NULL,
	by_name     TEXT    NOT NULL,
	by_from     TEXT    NOT NULL,
	answered    INTEGER NOT NULL,
	closed      INTEGER NOT NULL
) STRICT;

CREATE INDEX decisions_migration ON decisions (migration, seq);
CREATE INDEX decisions_open ON decisions (migration) WHERE answer = '' AND closed = 0;

CREATE TABLE events (
	seq       INTEGER PRIMARY KEY AUTOINCREMENT,
	migration TEXT    NOT NULL REFERENCES migrations (uid),
	at        INTEGER NOT NULL,
	level     TEXT    NOT NULL,
	phase     TEXT    NOT NULL,
	reason    TEXT    NOT NULL,
	message   TEXT    NOT NULL
) STRICT;

CREATE INDEX events_migration ON events (migration, seq);

CREATE TABLE held (
	seq       INTEGER PRIMARY KEY,
	migration TEXT    NOT NULL REFERENCES migrations (uid),
	kind      TEXT    NOT NULL,
	place     TEXT    NOT NULL,
	name      TEXT    NOT NULL,
	since     INTEGER NOT NULL,
	keep      INTEGER NOT NULL CHECK (keep IN (0, 1)),
	note      TEXT    NOT NULL,
	UNIQUE (migration, kind, place, name)
) STRICT;

CREATE TABLE ledgers (
	id        INTEGER PRIMARY KEY,
	migration TEXT    NOT NULL REFERENCES migrations (uid),
	disk      INTEGER NOT NULL,
	UNIQUE (migration, disk)
) STRICT;

-- One row holds the sums of a run of chunks and fills one page of the file.
CREATE TABLE chunks (
	ledger  INTEGER NOT NULL REFERENCES ledgers (id) ON DELETE CASCADE,
	segment INTEGER NOT NULL,
	digest  INTEGER NOT NULL,
	sums    BLOB    NOT NULL,
	UNIQUE (ledger, segment)
) STRICT;

CREATE TABLE endpoints (
	name     TEXT    NOT NULL PRIMARY KEY,
	source   TEXT    NOT NULL,
	target   TEXT    NOT NULL,
	defaults TEXT    NOT NULL,
	asked    INTEGER NOT NULL,
	taken    INTEGER NOT NULL,
	about    TEXT    NOT NULL,
	failure  TEXT    NOT NULL
) STRICT;

CREATE TABLE inventory (
	endpoint TEXT    NOT NULL REFERENCES endpoints (name) ON DELETE CASCADE,
	place    INTEGER NOT NULL,
	vm       TEXT    NOT NULL,
	PRIMARY KEY (endpoint, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
	seq       INTEGER PRIMARY KEY AUTOINCREMENT,
	at        INTEGER NOT NULL,
	by_name   TEXT    NOT NULL,
	by_from   TEXT    NOT NULL,
	what      TEXT    NOT NULL,
	migration TEXT    NOT NULL
) STRICT;

CREATE INDEX audit_migration ON audit (migration, seq);

CREATE TABLE heartbeat (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	pid     INTEGER NOT NULL,
	host    TEXT    NOT NULL,
	version TEXT    NOT NULL,
	started INTEGER NOT NULL,
	beat    INTEGER NOT NULL,
	permits INTEGER NOT NULL
) STRICT;

-- The change feed: one number, raised by every write that a reader could care for.
CREATE TABLE feed (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	number INTEGER NOT NULL
) STRICT;

INSERT INTO feed (one, number) VALUES (1, 1);

-- +goose StatementBegin
CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
-- +goose StatementEnd
