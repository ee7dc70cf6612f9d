import type { Database } from "better-sqlite3";

/**
 * Tables of what the service sends. All times are milliseconds of schedule time unless the name says `wall`.
 *
 * A delivery waits while `next_attempt_at` is set and is in flight, or settled, while it is null.
 */
export const DELIVERY_TABLES = `
  CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT;

  CREATE TABLE endpoints (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    org_id TEXT,
    url TEXT NOT NULL,
    event_types TEXT NOT NULL,
    secret TEXT NOT NULL,
    faults TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    consecutive_failures INTEGER NOT NULL DEFAULT 0,
    deleted_at INTEGER
  ) STRICT;

  CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    org_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    origin TEXT NOT NULL,
    body BLOB NOT NULL
  ) STRICT;

  CREATE TABLE deliveries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    event_id TEXT NOT NULL REFERENCES events(id),
    endpoint_id TEXT NOT NULL REFERENCES endpoints(id),
    state TEXT NOT NULL CHECK (state IN ('attempting', 'delivered', 'dead')),
    created_at INTEGER NOT NULL,
    next_attempt_at INTEGER,
    attempts_made INTEGER NOT NULL DEFAULT 0,
    faults TEXT NOT NULL,
    body BLOB,
    resend_of TEXT
  ) STRICT;
  CREATE INDEX deliveries_due ON deliveries (endpoint_id, next_attempt_at, seq) WHERE next_attempt_at IS NOT NULL;
  CREATE INDEX deliveries_next ON deliveries (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
  CREATE INDEX deliveries_of_event ON deliveries (event_id, seq);
  CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, seq);
  CREATE INDEX deliveries_by_state ON deliveries (state, seq);

  CREATE TABLE attempts (
    delivery_id TEXT NOT NULL REFERENCES deliveries(id),
    number INTEGER NOT NULL CHECK (number BETWEEN 1 AND 6),
    scheduled_at INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    wall_started_at INTEGER NOT NULL,
    duration_ms INTEGER,
    signature_timestamp INTEGER NOT NULL,
    http_status INTEGER,
    error TEXT,
    error_detail TEXT,
    request_headers TEXT NOT NULL,
    request_body BLOB,
    answer_headers TEXT,
    answer_body BLOB,
    answer_truncated INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (delivery_id, number)
  ) STRICT;
  CREATE INDEX attempts_open ON attempts (delivery_id) WHERE ended_at IS NULL;

  CREATE TABLE agenda (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    due_at INTEGER NOT NULL,
    step TEXT NOT NULL
  ) STRICT;
  CREATE INDEX agenda_due ON agenda (due_at, seq)`;

/**
 * What lists show of a delivery without reading any body, and how many deliveries there are of each kind: kept by the
 * database itself, so that no crash and no rolled back write can make them differ from the rows.
 *
 * `event_summary(body)` is a function of the connection that runs the migration.
 */
export const SUMMARY_TABLES = `
  ALTER TABLE events ADD COLUMN summary TEXT NOT NULL DEFAULT '';
  UPDATE events SET summary = event_summary(body);

  ALTER TABLE deliveries ADD COLUMN event_type TEXT NOT NULL DEFAULT '';
  UPDATE deliveries SET event_type = (SELECT type FROM events WHERE events.id = deliveries.event_id);
  CREATE INDEX deliveries_by_type ON deliveries (event_type, seq);
  CREATE INDEX events_by_type ON events (type, seq);

  CREATE TABLE delivery_counts (
    endpoint_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    state TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (endpoint_id, event_type, state)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO delivery_counts SELECT endpoint_id, event_type, state, count(*) FROM deliveries GROUP BY 1, 2, 3;
  CREATE TRIGGER delivery_created AFTER INSERT ON deliveries BEGIN
    INSERT INTO delivery_counts VALUES (NEW.endpoint_id, NEW.event_type, NEW.state, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
  END;
  CREATE TRIGGER delivery_settled AFTER UPDATE OF state ON deliveries WHEN OLD.state <> NEW.state BEGIN
    UPDATE delivery_counts SET count = count - 1
    WHERE endpoint_id = OLD.endpoint_id AND event_type = OLD.event_type AND state = OLD.state;
    INSERT INTO delivery_counts VALUES (NEW.endpoint_id, NEW.event_type, NEW.state, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
  END;
  CREATE TRIGGER delivery_removed AFTER DELETE ON deliveries BEGIN
    UPDATE delivery_counts SET count = count - 1
    WHERE endpoint_id = OLD.endpoint_id AND event_type = OLD.event_type AND state = OLD.state;
  END;

  -- Ids went by the number of the row before they had a counter.
  INSERT INTO meta SELECT 'event_ids', CAST(seq AS TEXT) FROM sqlite_sequence WHERE name = 'events';

  CREATE TABLE event_counts (
    type TEXT PRIMARY KEY,
    count INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO event_counts SELECT type, count(*) FROM events GROUP BY 1;
  CREATE TRIGGER event_created AFTER INSERT ON events BEGIN
    INSERT INTO event_counts VALUES (NEW.type, 1) ON CONFLICT DO UPDATE SET count = count + 1;
  END;
  CREATE TRIGGER event_removed AFTER DELETE ON events BEGIN
    UPDATE event_counts SET count = count - 1 WHERE type = OLD.type;
  END`;

/** What receivers tell of their work, and the verdict on each delivery, counted as the states are. */
export const VERDICT_TABLES = `
  CREATE TABLE handlings (
    event_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    handled INTEGER NOT NULL,
    duplicates INTEGER,
    state TEXT,
    is_settled INTEGER NOT NULL,
    PRIMARY KEY (event_id, endpoint_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER handlings_forgotten AFTER DELETE ON events BEGIN
    DELETE FROM handlings WHERE event_id = OLD.id;
  END;

  ALTER TABLE deliveries ADD COLUMN meant TEXT NOT NULL DEFAULT 'honest';
  ALTER TABLE deliveries ADD COLUMN verdict TEXT NOT NULL DEFAULT 'waiting';
  CREATE INDEX deliveries_by_verdict ON deliveries (verdict, seq);

  CREATE TABLE verdict_counts (
    endpoint_id TEXT NOT NULL,
    meant TEXT NOT NULL,
    verdict TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (endpoint_id, meant, verdict)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO verdict_counts SELECT endpoint_id, meant, verdict, count(*) FROM deliveries GROUP BY 1, 2, 3;
  CREATE TRIGGER verdict_begun AFTER INSERT ON deliveries BEGIN
    INSERT INTO verdict_counts VALUES (NEW.endpoint_id, NEW.meant, NEW.verdict, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
  END;
  CREATE TRIGGER verdict_changed AFTER UPDATE OF meant, verdict ON deliveries BEGIN
    UPDATE verdict_counts SET count = count - 1
    WHERE endpoint_id = OLD.endpoint_id AND meant = OLD.meant AND verdict = OLD.verdict;
    INSERT INTO verdict_counts VALUES (NEW.endpoint_id, NEW.meant, NEW.verdict, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
  END;
  CREATE TRIGGER verdict_removed AFTER DELETE ON deliveries BEGIN
    UPDATE verdict_counts SET count = count - 1
    WHERE endpoint_id = OLD.endpoint_id AND meant = OLD.meant AND verdict = OLD.verdict;
  END`;

/** Indexes that every attempt had to write four times, for questions that other indexes and the memory answer as well. */
export const FEWER_INDEXES = `
  DROP INDEX deliveries_next;

  DROP INDEX attempts_open`;

/** The secret before the last rotation, and when its overlap ends. */
export const ROTATION_TABLES = `
  ALTER TABLE endpoints ADD COLUMN previous_secret TEXT;
  ALTER TABLE endpoints ADD COLUMN previous_until INTEGER`;

/** Attempts by the number of their delivery: those of neighbours stand side by side, where ids lie anywhere. */
export const ATTEMPTS_BY_NUMBER = `
  CREATE TABLE numbered (
    delivery_seq INTEGER NOT NULL REFERENCES deliveries(seq),
    number INTEGER NOT NULL CHECK (number >= 1 AND number <= 6),
    scheduled_at INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    wall_started_at INTEGER NOT NULL,
    duration_ms INTEGER,
    signature_timestamp INTEGER NOT NULL,
    http_status INTEGER,
    error TEXT,
    error_detail TEXT,
    request_headers TEXT NOT NULL,
    request_body BLOB,
    answer_headers TEXT,
    answer_body BLOB,
    answer_truncated INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (delivery_seq, number)
  ) STRICT;
  INSERT INTO numbered
    SELECT d.seq, number, scheduled_at, started_at, ended_at, wall_started_at, duration_ms, signature_timestamp,
      http_status, error, error_detail, request_headers, request_body, answer_headers, answer_body, answer_truncated
    FROM attempts a JOIN deliveries d ON d.id = a.delivery_id ORDER BY a.rowid;
  DROP TABLE attempts;
  ALTER TABLE numbered RENAME TO attempts`;

/** Where each attempt was sent, since an endpoint's address may change. */
export const SENT_URLS = `
  ALTER TABLE attempts ADD COLUMN request_url TEXT`;

const CLEAR = ["DELETE FROM attempts", "DELETE FROM deliveries", "DELETE FROM events", "DELETE FROM agenda"];
const CLEAR_ENDPOINTS = "DELETE FROM endpoints";
const UNFLAG_ENDPOINTS = "UPDATE endpoints SET consecutive_failures = 0";

/** Empties the tables of what was sent. Ids go on counting, so a receiver's memory never mistakes a new event. */
export function resetTables(database: Database, keep: { endpoints: boolean }): void {
  for (const statement of CLEAR) database.exec(statement);
  database.exec(keep.endpoints ? UNFLAG_ENDPOINTS : CLEAR_ENDPOINTS);
}
