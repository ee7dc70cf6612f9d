import { hash } from "node:crypto";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import Database from "better-sqlite3";
import type { Acceptance, EventSource, NewEvent } from "../../engine.ts";
import { checkSynchronous } from "./database.ts";
import { keyOf, openInboxFile } from "./inbox-file.ts";
import { createObjectIndex } from "./object-index.ts";
import { answerQuestions } from "./thread.ts";
import type { WriterVerbs } from "./writer.ts";

/** How long a commit waits for the short transactions of other processes. Only the writer thread waits. */
const BUSY_TIMEOUT_MS = 2_000;
const MOVED = "the inbox file was moved, deleted or replaced while it was open: put it back, or restart";

// The only statement that runs for every event.
const INSERT_EVENT = `
  INSERT INTO events (key, type, object_id, source, received_at_ms, body, trace)
  VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (key) DO NOTHING`;
const COUNT_DUPLICATE = `UPDATE events SET duplicates = duplicates + 1 WHERE key = ? RETURNING body`;
const COUNT_DUPLICATE_OF = `UPDATE events SET duplicates = duplicates + 1 WHERE seq = ?`;

const HAS_RECONCILED = `
  SELECT EXISTS (SELECT 1 FROM aliases) OR EXISTS (SELECT 1 FROM events INDEXED BY events_reconciled WHERE source = 'reconcile')`;
const FIND_RECONCILED = `SELECT seq FROM events INDEXED BY events_reconciled WHERE source = 'reconcile' AND object_id = ? AND type = ?`;
const INSERT_ALIAS = `INSERT INTO aliases (key, seq, received_at_ms) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING`;

/**
 * The writer thread: stores each batch that it is sent and answers once the commit is synced. The hooks are for tests:
 * of a database in trouble, and of a process that ends in mid-commit.
 */
export function serveWriter(
  hooks: { onOpen?: (db: Database.Database) => void; beforeCommit?: () => void } = {},
): void {
  answerQuestions((file, clock, closing) => {
    const db = closing(openInboxFile({ file, busyTimeoutMs: BUSY_TIMEOUT_MS }));
    const path = resolve(file);
    const inode = (): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino;
    const opened = inode();
    const accept = createAccept(db, hooks);
    accept([], 0);
    checkSynchronous(db, "FULL");
    hooks.onOpen?.(db);
    return {
      accept: (batch) => {
        // SQLite itself would go on: in a file that is gone with its last connection, and with it what was acknowledged.
        if (inode() !== opened) throw new Database.SqliteError(MOVED, "SQLITE_READONLY_DBMOVED");
        return accept(batch, clock.nowMs());
      },
    } satisfies WriterVerbs;
  });
}

/**
 * Answers a function that stores a batch in one transaction, as received at `nowMs`; an empty batch only shows whether
 * a write succeeds. When it returns, the commit is synced; when it throws, nothing of the batch is stored.
 */
export function createAccept(
  db: Database.Database,
  options: { beforeCommit?: (() => void) | undefined } = {},
): (batch: readonly NewEvent[], nowMs: number) => Acceptance[] {
  const insertEvent =
    db.prepare<[Buffer, string, string | null, EventSource, number, Uint8Array, string | null]>(INSERT_EVENT);
  const countDuplicate = db.prepare<[Buffer], { body: Buffer | null }>(COUNT_DUPLICATE);
  const countDuplicateOf = db.prepare<[number]>(COUNT_DUPLICATE_OF);
  const hasReconciled = db.prepare<[], number>(HAS_RECONCILED).pluck();
  const findReconciled = db.prepare<[string | null, string], number>(FIND_RECONCILED).pluck();
  const findAlias = db.prepare<[Buffer], number>(`SELECT seq FROM aliases WHERE key = ?`).pluck();
  const insertAlias = db.prepare<[Buffer, number, number]>(INSERT_ALIAS);
  const touch = db.prepare(`UPDATE identity SET pair = pair`);
  const objects = createObjectIndex(db);

  const acceptAll = db.transaction((batch: readonly NewEvent[], nowMs: number): Acceptance[] => {
    if (batch.length === 0) touch.run();
    const reconciled = hasReconciled.get() === 1 || batch.some(({ source }) => source === "reconcile");
    const acceptances = batch.map((event) => {
      if (event.source === "reconcile") return acceptReconciled(event, nowMs);
      return (reconciled ? sameAsReconciled(event, nowMs) : undefined) ?? insert(event, nowMs);
    });
    options.beforeCommit?.();
    return acceptances;
  });

  return (batch, nowMs) => {
    // To read a large inbox takes long, so it is done before the transaction; only newer events are left to read in it.
    if (batch.some(({ source }) => source === "reconcile")) objects.extend();
    return acceptAll.immediate(batch, nowMs);
  };

  function insert(event: NewEvent, nowMs: number): Acceptance {
    const key = keyOf(event.id);
    const { type, objectId, source, body } = event;
    const trace = event.trace === null ? null : JSON.stringify(event.trace);
    const { changes } = insertEvent.run(key, type, objectId, source, nowMs, body, trace);
    if (changes === 1) return { duplicate: false };
    const stored = countDuplicate.get(key)?.body;
    if (!stored || stored.equals(event.body)) return { duplicate: true };
    const differs = { storedSha256: hash("sha256", stored), receivedSha256: hash("sha256", event.body) };
    return { duplicate: true, differs };
  }

  /** Ids decide, with one exception: what reconcile enqueued has an id of its own, so there the object decides. */
  function sameAsReconciled(event: NewEvent, nowMs: number): Acceptance | undefined {
    const seq = findAlias.get(keyOf(event.id)) ?? findReconciled.get(event.objectId, event.type);
    return seq === undefined ? undefined : duplicateOf(seq, event, nowMs);
  }

  function acceptReconciled(event: NewEvent, nowMs: number): Acceptance {
    objects.extend();
    const seq = event.objectId === null ? undefined : objects.find(event.type, event.objectId);
    return seq === undefined ? insert(event, nowMs) : duplicateOf(seq, event, nowMs);
  }

  /** The event is a duplicate of one with another id; from now on both ids name that event. */
  function duplicateOf(seq: number, event: NewEvent, nowMs: number): Acceptance {
    insertAlias.run(keyOf(event.id), seq, nowMs);
    countDuplicateOf.run(seq);
    return { duplicate: true };
  }
}
