import type Database from "better-sqlite3";
import { HELD } from "./job-rules.ts";

const APPLICATION_ID = 0x7661_6b32;
const SCHEMA_VERSION = 1;

/** The handler number of events that no handler wants: each has one ignored job under it. */
export const UNWANTED = 0;

/**
 * Tables of schema 1. An event's id is stored as the 16 bytes of its 32 hexadecimal characters. Handlers may add their own
 * tables to the same file.
 */
const SCHEMA = `
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    alias BLOB,                        -- the service's id of an event that reconcile had stored first
    type TEXT,
    object_id TEXT,
    source TEXT,
    received_at_ms INTEGER NOT NULL,
    duplicates INTEGER NOT NULL DEFAULT 0,
    handled INTEGER,                   -- set when the event is pruned
    body BLOB                          -- null once the event is pruned
  ) STRICT;
  CREATE UNIQUE INDEX events_alias ON events (alias) WHERE alias IS NOT NULL;
  CREATE INDEX events_found ON events (object_id, type) WHERE source = 'reconcile';

  CREATE TABLE handlers (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    types TEXT NOT NULL,               -- JSON: a list, or "*"
    key TEXT NOT NULL,                 -- JSON: paths in the envelope
    migrations INTEGER NOT NULL DEFAULT 0,
    announced INTEGER NOT NULL DEFAULT 0  -- grows with each announcement; the handlers with the largest are in use
  ) STRICT;
  INSERT INTO handlers (number, name, types, key) VALUES (${String(UNWANTED)}, '', '[]', '[]');

  CREATE TABLE jobs (
    event INTEGER NOT NULL,
    handler INTEGER NOT NULL,
    state TEXT NOT NULL,               -- waiting, running, done, dead, ignored
    key TEXT,
    due_at_ms INTEGER NOT NULL,        -- 0 if it does not wait, ${String(HELD)} if it waits behind its key
    attempts INTEGER NOT NULL DEFAULT 0,
    handled INTEGER NOT NULL DEFAULT 0,
    deferred INTEGER NOT NULL DEFAULT 0,
    waiting_since_ms INTEGER NOT NULL,
    finished_at_ms INTEGER,
    errors TEXT,                       -- JSON: the last five, newest first
    cause TEXT,                        -- why it is dead or ignored
    PRIMARY KEY (event, handler)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX jobs_open ON jobs (handler, state, due_at_ms, event, attempts, cause) WHERE state <> 'done';
  CREATE INDEX jobs_keyed ON jobs (handler, key, state, event) WHERE key IS NOT NULL AND state IN ('waiting', 'running');

  CREATE TABLE steps (
    event INTEGER NOT NULL, handler INTEGER NOT NULL, name TEXT NOT NULL, result TEXT NOT NULL,
    PRIMARY KEY (event, handler, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE bookmarks (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

/** The number of the last event; 0 before the first. */
export const LATEST_EVENT = `SELECT coalesce(max(seq), 0) FROM events`;

/** A write that changes nothing. */
export const TOUCH = `
  INSERT INTO bookmarks VALUES ('touched', '') ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/** Creates the tables in an empty database. Throws if the file is not an inbox of this version. */
export function createSchema(db: Database.Database, file: string): void {
  db.transaction(() => {
    if (!isEmpty(db, file)) return;
    db.exec(SCHEMA);
    db.pragma(`application_id = ${String(APPLICATION_ID)}`);
    db.pragma(`user_version = ${String(SCHEMA_VERSION)}`);
  }).immediate();
}

/** Whether the database is empty. Throws if the file is not an inbox of this version. */
export function isEmpty(db: Database.Database, file: string): boolean {
  const read = (name: string): number => Number(db.pragma(name, { simple: true }));
  const [application, version] = [read("application_id"), read("user_version")];
  const tables = Number(db.prepare("SELECT count(*) FROM sqlite_schema").pluck().get());
  if (tables + version + application === 0) return true;
  if (application === APPLICATION_ID && version === SCHEMA_VERSION) return false;
  throw new Error(
    `${file} is not an inbox of this version (schema ${String(version)}, not ${String(SCHEMA_VERSION)}). Name another file in DATABASE_URL, or move this one away and start again.`,
  );
}

export function bytesOfId(id: string): Buffer {
  return Buffer.from(id.slice("evt_".length), "hex");
}

export function idOfBytes(bytes: Buffer): string {
  return `evt_${bytes.toString("hex")}`;
}
