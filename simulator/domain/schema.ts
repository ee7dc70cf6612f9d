/**
 * Tables of what the service sends. All times are milliseconds of schedule time unless the name says `wall`.
 *
 * A delivery waits while `next_attempt_at` is set and is in flight, or settled, while it is null.
 */
export const DELIVERY_TABLES = [
  `CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT`,

  `CREATE TABLE endpoints (
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
  ) STRICT`,

  `CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    org_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    origin TEXT NOT NULL,
    body BLOB NOT NULL
  ) STRICT`,

  `CREATE TABLE deliveries (
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
  CREATE INDEX deliveries_by_state ON deliveries (state, seq)`,

  `CREATE TABLE attempts (
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
  CREATE INDEX attempts_open ON attempts (delivery_id) WHERE ended_at IS NULL`,

  `CREATE TABLE agenda (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    due_at INTEGER NOT NULL,
    step TEXT NOT NULL
  ) STRICT;
  CREATE INDEX agenda_due ON agenda (due_at, seq)`,
] as const;
