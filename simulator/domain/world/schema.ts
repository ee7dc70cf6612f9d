/** For filtered lists, and to find an item or a cursor by its id. */
export const WORLD_ITEMS_INDEXES = [
  `CREATE INDEX world_items_by_facet ON world_items (organization, kind, facet, created_at, seq)`,
  `CREATE UNIQUE INDEX world_items_by_id ON world_items (id)`,
];

/**
 * Tables of the world. Times are Unix seconds on the schedule's time line, as the resources carry them.
 *
 * `world_items` holds calls and voicemails in the order in which the lists are walked, so that any page is one seek in
 * the primary key. An item of the generated history has no `object`: its fields follow from the seed and its `origin`.
 */
export const WORLD_MIGRATIONS = [
  `CREATE TABLE world (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seed INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    organizations INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    items INTEGER NOT NULL,
    happenings INTEGER NOT NULL
  ) STRICT`,

  `CREATE TABLE world_items (
    organization INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('call', 'voicemail')),
    created_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    facet TEXT NOT NULL,
    id TEXT NOT NULL,
    origin INTEGER,
    object TEXT,
    PRIMARY KEY (organization, kind, created_at, seq),
    CHECK (origin IS NOT NULL OR object IS NOT NULL)
  ) STRICT, WITHOUT ROWID`,

  ...WORLD_ITEMS_INDEXES,
];
