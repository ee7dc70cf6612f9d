import { createHash } from "node:crypto";
import type Database from "better-sqlite3";
import type { Acceptance, EventSource, NewEvent } from "../../engine.ts";
import { openDatabase, type Synchronous } from "./database.ts";

/**
 * The inbox file: what arrived. Only `accept` and retention write to it, and never for longer than one commit, so that
 * nothing which handlers do can keep an acknowledgement waiting. What became of each event stands in the work file.
 */
const MIGRATIONS = [
  `
  -- Every id ever accepted, as its 16 bytes: what recognises a duplicate long after the event itself was pruned.
  -- Two ids may name one event: the one that reconcile gave it, and the one that the service sent later.
  CREATE TABLE ids (
    key BLOB PRIMARY KEY,
    seq INTEGER NOT NULL,
    day INTEGER NOT NULL,                 -- days of Unix time when it was received
    handled INTEGER NOT NULL DEFAULT 0    -- set when the event is pruned
  ) STRICT, WITHOUT ROWID;

  -- AUTOINCREMENT, because the work file remembers the last seq it has seen: none may ever be used twice.
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    object_id TEXT,
    ordering_key TEXT,
    source TEXT NOT NULL CHECK (source IN ('webhook', 'reconcile')),
    received_at_ms INTEGER NOT NULL,
    duplicates INTEGER NOT NULL DEFAULT 0,
    body BLOB NOT NULL
  ) STRICT;
  CREATE INDEX events_by_object ON events (object_id, type) WHERE object_id IS NOT NULL;

  CREATE TABLE bookmarks (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE identity (pair TEXT NOT NULL) STRICT;
  INSERT INTO identity VALUES (lower(hex(randomblob(16))));
  `,
];

/** Opens the inbox file. `FULL` syncs every commit; a connection that only reads or deletes may do with `NORMAL`. */
export function openInboxFile(options: {
  file: string;
  synchronous: Synchronous;
  busyTimeoutMs: number;
}): Database.Database {
  return openDatabase({ ...options, migrations: MIGRATIONS });
}

/** The 16 bytes that the 32 hexadecimal characters of an event id stand for. */
export function idKey(id: string): Buffer {
  return Buffer.from(id.slice("evt_".length), "hex");
}

const FIND_ID = `SELECT seq FROM ids WHERE key = ?`;
const FIND_EVENT_OF_OBJECT = `SELECT seq FROM events WHERE object_id = ? AND type = ? LIMIT 1`;
const FIND_RECONCILED_EVENT_OF_OBJECT = `SELECT seq FROM events WHERE object_id = ? AND type = ? AND source = 'reconcile' LIMIT 1`;
const INSERT_ID = `INSERT INTO ids (key, seq, day) VALUES (?, ?, ?)`;
const INSERT_EVENT = `INSERT INTO events (id, type, object_id, ordering_key, source, received_at_ms, body) VALUES (?, ?, ?, ?, ?, ?, ?)`;
const COUNT_DUPLICATE = `UPDATE events SET duplicates = duplicates + 1 WHERE seq = ? RETURNING id, body`;

const TOUCH = `UPDATE identity SET pair = pair`;

const DAY_MS = 86_400_000;

/**
 * Answers a function that stores a batch in one transaction; an empty batch only shows whether a write succeeds. When it returns, the commit is synced; when it throws,
 * nothing of the batch is stored. `beforeCommit` is for tests that end the process at that very point.
 */
export function createAccept(
  db: Database.Database,
  { beforeCommit }: { beforeCommit?: (() => void) | undefined } = {},
): (batch: readonly NewEvent[]) => Acceptance[] {
  const findId = db.prepare<[Buffer], { seq: number }>(FIND_ID);
  const findEventOfObject = db.prepare<[string, string], { seq: number }>(FIND_EVENT_OF_OBJECT);
  const findReconciled = db.prepare<[string, string], { seq: number }>(FIND_RECONCILED_EVENT_OF_OBJECT);
  const insertId = db.prepare<[Buffer, number | bigint, number]>(INSERT_ID);
  const insertEvent =
    db.prepare<[string, string, string | null, string | null, EventSource, number, Uint8Array]>(INSERT_EVENT);
  const countDuplicate = db.prepare<[number], { id: string; body: Buffer }>(COUNT_DUPLICATE);

  const touch = db.prepare(TOUCH);

  const acceptOne = (event: NewEvent): Acceptance => {
    const key = idKey(event.id);
    const day = Math.floor(event.receivedAtMs / DAY_MS);

    const known = findId.get(key);
    if (known) return duplicateOf(known.seq, event);

    const sameObject = eventOfSameObject(event);
    if (sameObject) {
      insertId.run(key, sameObject.seq, day);
      countDuplicate.get(sameObject.seq);
      return { duplicate: true };
    }

    const { lastInsertRowid: seq } = insertEvent.run(
      event.id,
      event.type,
      event.objectId,
      event.orderingKey,
      event.source,
      event.receivedAtMs,
      event.body,
    );
    insertId.run(key, seq, day);
    return { duplicate: false };
  };

  /** Ids decide, with one exception: what reconcile enqueued has an id of its own, so there the object decides. */
  const eventOfSameObject = (event: NewEvent): { seq: number } | undefined => {
    if (event.objectId === null) return undefined;
    const find = event.source === "reconcile" ? findEventOfObject : findReconciled;
    return find.get(event.objectId, event.type);
  };

  const duplicateOf = (seq: number, event: NewEvent): Acceptance => {
    const stored = countDuplicate.get(seq);
    if (!stored || stored.id !== event.id || stored.body.equals(event.body)) return { duplicate: true };
    return {
      duplicate: true,
      differs: { storedSha256: sha256(stored.body), receivedSha256: sha256(event.body) },
    };
  };

  const acceptAll = db.transaction((batch: readonly NewEvent[]) => {
    if (batch.length === 0) touch.run();
    const acceptances = batch.map(acceptOne);
    beforeCommit?.();
    return acceptances;
  });
  return (batch) => acceptAll.immediate(batch);
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
