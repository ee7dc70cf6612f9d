import type Database from "better-sqlite3";
import { syncCommits } from "./database.ts";

/** Deleting holds the write lock: this many rows at a time. */
const BATCH = 200;

type Finished = { seq: number; state: string; handled: number; receivedAtMs: number | undefined };

const FIND_FINISHED = `
  SELECT seq, state, handled FROM work WHERE seq > ? AND state IN ('done', 'ignored', 'pruned') ORDER BY seq LIMIT ${String(BATCH)}`;
const FIND_RECEIVED_AT = `SELECT received_at_ms FROM events WHERE seq = ? AND body IS NOT NULL`;
const MARK = `UPDATE work SET state = 'pruned' WHERE seq = ? AND state IN ('done', 'ignored')`;
// What reconcile found keeps its object for as long as its id: the service's own event may still come, with another id.
const FORGET = `
  UPDATE events SET body = NULL, handled = ?, duplicates = 0,
    type = CASE source WHEN 'reconcile' THEN type ELSE '' END,
    object_id = CASE source WHEN 'reconcile' THEN object_id END
  WHERE seq = ?`;
const REMEMBER = `UPDATE identity SET pruned_before_ms = max(pruned_before_ms, ?)`;
const DELETE_WORK = `DELETE FROM work WHERE seq = ? AND state = 'pruned'`;
const COUNT_DELETED = `UPDATE position SET deleted = deleted + ?`;
const LIST_IDS = `SELECT seq, received_at_ms FROM events WHERE seq > ? ORDER BY seq LIMIT ${String(BATCH)}`;
// Never the newest: the next event would get its seq, and the work file has been there already.
const DELETE_ID = `DELETE FROM events WHERE seq = ? AND body IS NULL AND seq < (SELECT max(seq) FROM events)`;
const DELETE_OLD_ALIASES = `DELETE FROM aliases WHERE received_at_ms < ?`;

/**
 * Deletes what has been kept long enough. Only finished events: dead letters and unfinished ones stay until somebody
 * deals with them. Each batch goes through four steps, each on disk before the next begins, so that a power cut between
 * any two leaves a state that the next run goes on from:
 *
 *   1. the work file marks it `pruned`, and nobody can requeue it any more
 *   2. the work file is synced: from here on a power cut takes back neither the mark nor the effects of its handler
 *   3. the inbox file forgets all but the id
 *   4. the work file deletes its row
 *
 * `pause` lets acknowledgements through. Nothing here shrinks the files: the space is used again.
 */
export function createRetention(options: {
  inbox: Database.Database;
  db: Database.Database;
  /** A transaction on the work file. */
  write: <Result>(statements: () => Result) => Promise<Result>;
  pause: () => Promise<void>;
  /** Brings what was committed to the work file onto the disk. */
  sync?: () => void;
}) {
  const { inbox, db, write, pause, sync = () => syncCommits(db.name) } = options;
  const findFinished = db.prepare<[number], Omit<Finished, "receivedAtMs">>(FIND_FINISHED);
  const findReceivedAt = inbox.prepare<[number], number>(FIND_RECEIVED_AT).pluck();
  const mark = db.prepare<[number]>(MARK);
  const forget = inbox.prepare<[number, number]>(FORGET);
  const remember = inbox.prepare<[number]>(REMEMBER);
  const deleteWork = db.prepare<[number]>(DELETE_WORK);
  const countDeleted = db.prepare<[number]>(COUNT_DELETED);
  const listIds = inbox.prepare<[number], { seq: number; received_at_ms: number }>(LIST_IDS);
  const deleteId = inbox.prepare<[number]>(DELETE_ID);
  const deleteOldAliases = inbox.prepare<[number]>(DELETE_OLD_ALIASES);

  return { pruneBodies, pruneIds };

  /** Forgets the bodies of finished events received before `beforeMs`. */
  async function pruneBodies(beforeMs: number): Promise<number> {
    let pruned = 0;
    for (let afterSeq = 0; ;) {
      const batch: Finished[] = findFinished
        .all(afterSeq)
        .map((row) => ({ ...row, receivedAtMs: findReceivedAt.get(row.seq) }));
      // Without a body it was forgotten by a run that ended before its last step.
      const old = batch.filter(({ receivedAtMs = 0 }) => receivedAtMs < beforeMs);
      if (old.length > 0) pruned += await pruneBatch(old, beforeMs);
      const last = batch.at(-1);
      // Events stand in the order in which they were received, so the first batch with a younger one is the last.
      if (!last || old.length < batch.length) return pruned;
      afterSeq = last.seq;
      await pause();
    }
  }

  async function pruneBatch(batch: readonly Finished[], beforeMs: number): Promise<number> {
    // Whatever was requeued since we looked is not marked, and stays.
    const marked = await write(() =>
      batch.filter(({ seq, state }) => state === "pruned" || mark.run(seq).changes === 1),
    );
    sync();
    const forgetAll = inbox.transaction(() => {
      for (const { seq, handled, receivedAtMs } of marked) {
        if (receivedAtMs !== undefined) forget.run(handled, seq);
      }
      remember.run(beforeMs);
    });
    forgetAll.immediate();
    await write(() => countDeleted.run(marked.filter(({ seq }) => deleteWork.run(seq).changes === 1).length));
    return marked.length;
  }

  /** Forgets the ids of events received before `beforeMs` whose bodies are forgotten. */
  async function pruneIds(beforeMs: number): Promise<number> {
    let pruned = 0;
    for (let afterSeq = 0; ;) {
      const batch = listIds.all(afterSeq);
      const old = batch.filter(({ received_at_ms: receivedAtMs }) => receivedAtMs < beforeMs);
      const deleteAll = inbox.transaction(() => old.filter(({ seq }) => deleteId.run(seq).changes === 1));
      if (old.length > 0) pruned += deleteAll.immediate().length;
      const last = batch.at(-1);
      if (!last || old.length < batch.length) break;
      afterSeq = last.seq;
      await pause();
    }
    deleteOldAliases.run(beforeMs);
    return pruned;
  }
}
