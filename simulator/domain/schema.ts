import type { Database } from "better-sqlite3";

/** Version of these tables and of the world's, kept as `PRAGMA user_version`: one more with each change of them. */
export const TABLES_VERSION = 14;

const ONE_MORE = `
    INSERT INTO delivery_counts VALUES (NEW.endpoint_id, NEW.event_type, NEW.state, NEW.meant, NEW.verdict, coalesce(NEW.cause, ''), 1)
    ON CONFLICT DO UPDATE SET count = count + 1;`;
const ONE_LESS = `
    UPDATE delivery_counts SET count = count - 1
    WHERE (endpoint_id, event_type, state, meant, verdict, cause)
      = (OLD.endpoint_id, OLD.event_type, OLD.state, OLD.meant, OLD.verdict, coalesce(OLD.cause, ''));`;

/**
 * Tables of what the service sends. All times are milliseconds of schedule time unless the name says `wall`.
 *
 * A delivery waits while `next_attempt_at` is set, and is in flight or settled while it is null. Attempts are keyed by the
 * number of their delivery, so that those of neighbours are side by side, which ids would not give.
 *
 * The database itself keeps the counts, so that no crash or rolled back write can make them differ from the rows.
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
    name TEXT NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0,
    event_types TEXT NOT NULL,
    secret TEXT NOT NULL,
    -- The secret before the last rotation, and when its overlap ends.
    previous_secret TEXT,
    previous_until INTEGER,
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
    summary TEXT NOT NULL,
    body BLOB NOT NULL
  ) STRICT;
  CREATE INDEX events_by_type ON events (type, seq);

  CREATE TABLE deliveries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    event_id TEXT NOT NULL REFERENCES events(id),
    event_type TEXT NOT NULL,
    endpoint_id TEXT NOT NULL REFERENCES endpoints(id),
    state TEXT NOT NULL CHECK (state IN ('attempting', 'delivered', 'dead')),
    meant TEXT NOT NULL DEFAULT 'honest',
    verdict TEXT NOT NULL DEFAULT 'waiting',
    -- What the receiver did wrong; null where it did not.
    cause TEXT,
    created_at INTEGER NOT NULL,
    next_attempt_at INTEGER,
    attempts_made INTEGER NOT NULL DEFAULT 0,
    faults TEXT NOT NULL,
    resend_of TEXT,
    body BLOB
  ) STRICT;
  CREATE INDEX deliveries_due ON deliveries (endpoint_id, next_attempt_at, seq) WHERE next_attempt_at IS NOT NULL;
  CREATE INDEX deliveries_of_event ON deliveries (event_id, seq);
  CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, seq);
  CREATE INDEX deliveries_by_state ON deliveries (state, seq);
  CREATE INDEX deliveries_by_type ON deliveries (event_type, seq);
  CREATE INDEX deliveries_by_verdict ON deliveries (verdict, seq);
  CREATE INDEX deliveries_by_cause ON deliveries (cause, seq) WHERE cause IS NOT NULL;

  CREATE TABLE attempts (
    delivery_seq INTEGER NOT NULL REFERENCES deliveries(seq),
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
    request_url TEXT NOT NULL,
    request_headers TEXT NOT NULL,
    request_body BLOB,
    answer_headers TEXT,
    answer_body BLOB,
    answer_truncated INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (delivery_seq, number)
  ) STRICT;

  CREATE TABLE steps (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    due_at INTEGER NOT NULL,
    step TEXT NOT NULL
  ) STRICT;
  CREATE INDEX steps_due ON steps (due_at, seq);

  -- What receivers report about events.
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

  CREATE TABLE delivery_counts (
    endpoint_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    state TEXT NOT NULL,
    meant TEXT NOT NULL,
    verdict TEXT NOT NULL,
    -- Empty where there is none.
    cause TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (endpoint_id, event_type, state, meant, verdict, cause)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER delivery_created AFTER INSERT ON deliveries BEGIN
    ${ONE_MORE}
  END;
  CREATE TRIGGER delivery_changed AFTER UPDATE OF state, meant, verdict, cause ON deliveries
  WHEN (OLD.state, OLD.meant, OLD.verdict) <> (NEW.state, NEW.meant, NEW.verdict) OR OLD.cause IS NOT NEW.cause BEGIN
    ${ONE_LESS}
    ${ONE_MORE}
  END;
  CREATE TRIGGER delivery_removed AFTER DELETE ON deliveries BEGIN
    ${ONE_LESS}
  END`;

const CLEAR = ["DELETE FROM attempts", "DELETE FROM deliveries", "DELETE FROM events", "DELETE FROM steps"];
const CLEAR_ENDPOINTS = "DELETE FROM endpoints";
const UNFLAG_ENDPOINTS = "UPDATE endpoints SET consecutive_failures = 0";

/** Empties the tables of events and deliveries. Ids keep counting, so a receiver never mistakes a new event for an old. */
export function resetTables(database: Database, keep: { endpoints: boolean }): void {
  for (const statement of CLEAR) database.exec(statement);
  database.exec(keep.endpoints ? UNFLAG_ENDPOINTS : CLEAR_ENDPOINTS);
}
