/**
 * Tables of the world. Times are Unix seconds on the schedule's time line, as the resources carry them.
 *
 * The generated history follows from its origin and is not stored. `world_items` holds the calls and voicemails that were added
 * or changed since, in the order of lists. An item is kept as long as the event `event_id`, the last one about it.
 */
export const WORLD_TABLES = `
  CREATE TABLE world (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seed INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    happenings INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE world_items (
    organization INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('call', 'open call', 'voicemail')),
    created_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    facet TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    object TEXT NOT NULL,
    event_id TEXT,
    PRIMARY KEY (organization, kind, created_at, seq)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX world_items_by_facet ON world_items (organization, kind, facet, created_at, seq);
  CREATE INDEX world_items_of_event ON world_items (event_id)`;
