import type Database from "better-sqlite3";
import { openDatabase } from "./database.ts";

/**
 * The inbox file: what arrived. Whoever writes to it syncs every commit, and never holds its lock for longer than one
 * small transaction, so that nothing which handlers or operators do can keep an acknowledgement waiting. What became of
 * each event stands in the work file.
 */
const MIGRATIONS = [
  `
  -- The work file remembers the last seq that it has seen: none may be used twice, so the newest row is never deleted,
  -- nor left out, as AUTOINCREMENT would at each duplicate.
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,             -- the 16 bytes of the id: what recognises a duplicate
    type TEXT NOT NULL,
    object_id TEXT,
    source TEXT NOT NULL CHECK (source IN ('webhook', 'reconcile')),
    received_at_ms INTEGER NOT NULL,
    duplicates INTEGER NOT NULL DEFAULT 0,
    handled INTEGER,                      -- how often, set when the event is pruned
    body BLOB                             -- null once the event is pruned
  ) STRICT;

  -- What reconcile enqueued has an id of its own. When the service brings the same object later, its id goes here.
  CREATE INDEX events_reconciled ON events (object_id, type) WHERE source = 'reconcile';
  CREATE TABLE aliases (key BLOB PRIMARY KEY, seq INTEGER NOT NULL, received_at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE bookmarks (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE identity (pair TEXT NOT NULL, pruned_before_ms INTEGER NOT NULL) STRICT;
  INSERT INTO identity VALUES (lower(hex(randomblob(16))), 0);
  `,
  // JSON, of what the request said of itself.
  `ALTER TABLE events ADD COLUMN trace TEXT`,
];

/** Bookmark of an inbox that was moved to another database: nobody may go on with this one. */
export const MOVED_TO = "moved to";

/** Opens the inbox file for writing, and creates it when it isn't there: every commit is synced before it returns. */
export function openInboxFile(options: { file: string; busyTimeoutMs: number }): Database.Database {
  // An envelope fits into a page of this size, with less of it empty than in the usual 4 KiB.
  return openDatabase({ ...options, synchronous: "FULL", pageBytes: 8_192, migrations: MIGRATIONS });
}

const ID_PREFIX = "evt_";

/** The 16 bytes that the 32 hexadecimal characters of an event id stand for. */
export function keyOf(id: string): Buffer {
  return Buffer.from(id.slice(ID_PREFIX.length), "hex");
}

/** The event id of 16 bytes, in lower case. */
export function idOf(key: Buffer): string {
  return ID_PREFIX + key.toString("hex");
}
