import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import type { Exclusive } from "./exclusive.ts";

/** Deleting holds the write lock: this many rows at a time, with a pause in which acknowledgements go first. */
const BATCH = 200;
const PAUSE_MS = 10;
const DAY_MS = 86_400_000;

const FIND_FINISHED = `SELECT seq, handled FROM work WHERE state = ? AND seq > ? ORDER BY seq LIMIT ${String(BATCH)}`;
const FIND_RECEIVED_AT = `SELECT received_at_ms FROM events WHERE seq = ?`;
const FIND_ID_OF_EVENT = `SELECT id FROM events WHERE seq = ?`;
const REMEMBER_HANDLED = `UPDATE ids SET handled = ? WHERE key = ?`;
const DELETE_EVENT = `DELETE FROM events WHERE seq = ?`;
const DELETE_WORK = `DELETE FROM work WHERE seq = ? AND state IN ('done', 'ignored')`;
const SCAN_IDS = `SELECT key, seq, day FROM ids WHERE key > ? ORDER BY key LIMIT 1000`;
const DELETE_ID = `DELETE FROM ids WHERE key = ?`;

/**
 * Deletes what has been kept long enough. Only finished events: dead letters and unfinished ones stay until somebody
 * deals with them. Nothing here shrinks the files: the space is used again.
 */
export function createPrune(options: {
  inbox: Database.Database;
  db: Database.Database;
  exclusive: Exclusive;
  clock: Clock;
  keyOf: (id: string) => Buffer;
}): (until: { bodiesBeforeMs: number; idsBeforeMs: number }) => Promise<{ bodies: number; ids: number }> {
  const { inbox, db, exclusive, clock } = options;
  const findFinished = db.prepare<[string, number], { seq: number; handled: number }>(FIND_FINISHED);
  const findReceivedAt = inbox.prepare<[number], { received_at_ms: number }>(FIND_RECEIVED_AT);
  const findIdOfEvent = inbox.prepare<[number], { id: string }>(FIND_ID_OF_EVENT);
  const rememberHandled = inbox.prepare<[number, Buffer]>(REMEMBER_HANDLED);
  const deleteEvent = inbox.prepare<[number]>(DELETE_EVENT);
  const deleteWork = db.prepare<[number]>(DELETE_WORK);
  const scanIds = inbox.prepare<[Buffer], { key: Buffer; seq: number; day: number }>(SCAN_IDS);
  const deleteId = inbox.prepare<[Buffer]>(DELETE_ID);

  return async ({ bodiesBeforeMs, idsBeforeMs }) => {
    // A power cut may take the work file back to its last checkpoint: what it says is finished must be there to stay
    // before the event is deleted.
    db.pragma("wal_checkpoint(PASSIVE)");
    let bodies = 0;
    for (const state of ["done", "ignored"]) bodies += await pruneBodies(state, bodiesBeforeMs);
    return { bodies, ids: await pruneIds(Math.floor(idsBeforeMs / DAY_MS)) };
  };

  async function pruneBodies(state: string, beforeMs: number): Promise<number> {
    let pruned = 0;
    let afterSeq = 0;
    for (;;) {
      const batch = findFinished.all(state, afterSeq);
      const old = batch.filter(({ seq }) => (findReceivedAt.get(seq)?.received_at_ms ?? 0) < beforeMs);
      if (old.length > 0) {
        forgetEvents(old);
        await exclusive(() => old.forEach(({ seq }) => deleteWork.run(seq)));
        pruned += old.length;
      }
      const last = batch.at(-1);
      // Events stand in the order in which they were received, so the first batch with a younger one is the last.
      if (!last || old.length < batch.length) return pruned;
      afterSeq = last.seq;
      await clock.sleep(PAUSE_MS);
    }
  }

  function forgetEvents(events: readonly { seq: number; handled: number }[]): void {
    inbox
      .transaction(() => {
        for (const { seq, handled } of events) {
          const id = findIdOfEvent.get(seq)?.id;
          if (id !== undefined) rememberHandled.run(handled, options.keyOf(id));
          deleteEvent.run(seq);
        }
      })
      .immediate();
  }

  async function pruneIds(beforeDay: number): Promise<number> {
    let pruned = 0;
    let after: Buffer = Buffer.alloc(0);
    for (;;) {
      const batch = scanIds.all(after);
      const last = batch.at(-1);
      if (!last) return pruned;
      after = last.key;
      const old = batch.filter(({ seq, day }) => day < beforeDay && findReceivedAt.get(seq) === undefined);
      for (let from = 0; from < old.length; from += BATCH) {
        const some = old.slice(from, from + BATCH);
        inbox.transaction(() => some.forEach(({ key }) => deleteId.run(key))).immediate();
        await clock.sleep(PAUSE_MS);
      }
      pruned += old.length;
      await clock.sleep(0);
    }
  }
}
