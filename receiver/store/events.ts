import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type Database from "better-sqlite3";
import type { Clock } from "../clock.ts";
import { refusalOf, type DatabaseFile } from "./database.ts";
import type { Acceptance, Intake, NewEvent } from "./port.ts";
import type { Announcement, Queue } from "./jobs.ts";
import { bytesOfId, LATEST_EVENT, TOUCH } from "./schema.ts";

const INSERT = `
  INSERT INTO events (id, type, object_id, source, received_at_ms, body)
  VALUES ($id, $type, $objectId, $source, $nowMs, $body) ON CONFLICT (id) DO NOTHING`;
// Reconcile makes up ids, so its events are recognized by type and object.
const FIND_TWIN = `SELECT seq FROM events WHERE object_id = ? AND type = ? AND source = 'reconcile' LIMIT 1`;
const COUNT_DUPLICATE = `UPDATE events SET duplicates = duplicates + 1 WHERE id = ? RETURNING body`;
const COUNT_TWIN = `UPDATE events SET duplicates = duplicates + 1, alias = coalesce(alias, ?) WHERE seq = ?`;

/**
 * Stores events: one transaction for a batch, one sync of the log, then the answers. A sync that began before the commit does
 * not cover it, so each batch waits for its own, even one of duplicates only.
 */
export function createIntake(
  { db, write, log }: DatabaseFile,
  queue: Queue,
  objects: Objects,
  clock: Clock,
): Intake {
  const insert = db.prepare<[Record<string, unknown>]>(INSERT);
  const findTwin = db.prepare<[string, string], number>(FIND_TWIN).pluck();
  const countDuplicate = db.prepare<[Buffer], Buffer | null>(COUNT_DUPLICATE).pluck();
  const countTwin = db.prepare<[Buffer | null, number]>(COUNT_TWIN);
  const touch = db.prepare(TOUCH);

  return {
    accept: async (batch) => {
      try {
        const { sync } = await log();
        const acceptances = await write(() => {
          const latest = queue.announced();
          return batch.map((event) => store(event, latest));
        });
        await sync();
        return { ok: true, acceptances };
      } catch (error) {
        return refusalOf(error);
      }
    },
    probe: async () => {
      try {
        await log();
        await write(() => touch.run());
        return { ok: true };
      } catch (error) {
        return refusalOf(error);
      }
    },
  };

  function store(event: NewEvent, { announced, handlers }: Announcement): Acceptance {
    const { id, type, objectId, source, body, envelope } = event;
    const bytes = bytesOfId(id);
    const nowMs = clock.nowMs();
    const twin = objectId === null ? undefined : twinOf(objectId, type, source);
    if (twin !== undefined) {
      const duplicate = countDuplicate.get(bytes);
      if (duplicate === undefined) countTwin.run(source === "webhook" ? bytes : null, twin);
      return { duplicate: true };
    }
    const values = { id: bytes, type, objectId, source, nowMs, body };
    const { changes, lastInsertRowid } = insert.run(values);
    if (changes === 0) return { duplicate: true, ...differenceOf(countDuplicate.get(bytes), body) };
    // Before the first announcement, the store cannot know whether a handler wants it.
    const seq = Number(lastInsertRowid);
    if (announced > 0 && queue.add({ seq, type, envelope }, handlers, nowMs) === 0) queue.ignore(seq, nowMs);
    return { duplicate: false };
  }

  function twinOf(objectId: string, type: string, source: NewEvent["source"]): number | undefined {
    return source === "reconcile" ? objects.find(objectId, type) : findTwin.get(objectId, type);
  }
}

/** A pruned body cannot be compared. */
function differenceOf(stored: Buffer | null | undefined, received: Uint8Array): Pick<Acceptance, "differs"> {
  if (!stored || stored.equals(received)) return {};
  return { differs: { storedSha256: hash("sha256", stored), receivedSha256: hash("sha256", received) } };
}

/** Events that are looked at in one turn of the event loop. */
const SLICE = 2_000;
const CREATE_OBJECTS = `
  CREATE TEMP TABLE objects (object_id TEXT, type TEXT, seq INTEGER, PRIMARY KEY (object_id, type)) WITHOUT ROWID`;
const ADD_OBJECTS = `
  INSERT OR IGNORE INTO objects SELECT object_id, type, seq FROM events
  WHERE seq > ? AND seq <= ? AND object_id IS NOT NULL AND type IS NOT NULL`;
const FIND_OBJECT = `SELECT seq FROM objects WHERE object_id = ? AND type = ?`;

export type Objects = ReturnType<typeof createObjects>;

/**
 * Finds events by their objects, for reconcile alone. An index of all objects would cost every event a seventh of its time,
 * so they are gathered when reconcile first asks.
 */
export function createObjects(db: Database.Database) {
  db.exec(CREATE_OBJECTS);
  const latest = db.prepare<[], number>(LATEST_EVENT).pluck();
  const add = db.prepare<[number, number]>(ADD_OBJECTS);
  const find = db.prepare<[string, string], number>(FIND_OBJECT).pluck();
  /** The last event that was gathered. */
  let gathered = 0;

  return {
    /** Called within the transaction that enqueues the event, so that it also sees events that came since. */
    find: (objectId: string, type: string): number | undefined => {
      add.run(gathered, latest.get() ?? 0);
      return find.get(objectId, type);
    },
    known: async (type: string, objectIds: readonly string[]): Promise<Set<string>> => {
      for (const last = latest.get() ?? 0; gathered < last;) {
        const end = Math.min(last, gathered + SLICE);
        add.run(gathered, end);
        gathered = end;
        await nextTurn();
      }
      return new Set(objectIds.filter((objectId) => find.get(objectId, type) !== undefined));
    },
  };
}
