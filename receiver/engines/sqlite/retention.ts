import { syncCommits, type Files } from "./database.ts";

/** Deleting holds the write lock: this many rows at a time. */
const BATCH = 200;

type Of = { seq: number };
type Finished = { seq: number; handled: number; receivedAtMs: number | undefined };

const FIND_NEXT = `SELECT min(job) / 1024 FROM jobs WHERE job >= ? * 1024`;
const OF_EVENT = `job BETWEEN $seq * 1024 AND $seq * 1024 + 1023`;
const IS_FINISHED = `(state = 'done' OR state = 'ignored' OR state = 'pruned')`;
const FIND_RECEIVED_AT = `SELECT received_at_ms FROM events WHERE seq = ? AND body IS NOT NULL`;
const LIST_IDS = `SELECT seq, received_at_ms FROM events WHERE seq > ? ORDER BY seq LIMIT ${String(BATCH)}`;
// Never the newest: the next event would get its seq, and the work file has been there already.
const DELETE_ID = `DELETE FROM events WHERE seq = ? AND body IS NULL AND seq < (SELECT max(seq) FROM events)`;

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
export function createRetention(
  options: Files & {
    /** A transaction on the work file. */
    write: <Result>(statements: () => Result) => Promise<Result>;
    pause: () => Promise<void>;
    /** Brings what was committed to the work file onto the disk. */
    sync?: () => void;
  },
) {
  const { inbox, db, write, pause, sync = () => syncCommits(db.name) } = options;
  const findNext = db.prepare<[number], number | null>(FIND_NEXT).pluck();
  // Events all of whose jobs are finished, and none of them dead.
  const listFinished = db.prepare<[{ first: number }], Of & { handled: number }>(`
    SELECT job / 1024 AS seq, max(handled) AS handled FROM jobs
    WHERE job BETWEEN $first * 1024 AND ($first + ${String(BATCH)}) * 1024 - 1 GROUP BY 1 HAVING min(${IS_FINISHED})`);
  const findReceivedAt = inbox.prepare<[number], number>(FIND_RECEIVED_AT).pluck();
  // Whatever was requeued since we looked is not marked, and stays.
  const mark = db.prepare<[Of]>(`
    UPDATE jobs SET state = 'pruned'
    WHERE ${OF_EVENT} AND NOT EXISTS (SELECT 1 FROM jobs WHERE ${OF_EVENT} AND NOT ${IS_FINISHED})`);
  // What reconcile found keeps its object for as long as its id: the service's own event may still come, with another id.
  const forget = inbox.prepare<[number, number]>(`
    UPDATE events SET body = NULL, trace = NULL, handled = ?, duplicates = 0,
      type = CASE source WHEN 'reconcile' THEN type ELSE '' END,
      object_id = CASE source WHEN 'reconcile' THEN object_id END
    WHERE seq = ?`);
  const remember = inbox.prepare<[number]>(`UPDATE identity SET pruned_before_ms = max(pruned_before_ms, ?)`);
  const deleteJobs = db.prepare<[Of]>(`DELETE FROM jobs WHERE ${OF_EVENT} AND state = 'pruned'`);
  const deleteSteps = db.prepare<[Of]>(`DELETE FROM steps WHERE ${OF_EVENT}`);
  const countDeleted = db.prepare<[number]>(`UPDATE position SET deleted = deleted + ?`);
  const listIds = inbox.prepare<[number], { seq: number; received_at_ms: number }>(LIST_IDS);
  const deleteId = inbox.prepare<[number]>(DELETE_ID);
  const deleteOldAliases = inbox.prepare<[number]>(`DELETE FROM aliases WHERE received_at_ms < ?`);

  return { pruneBodies, pruneIds };

  /** Forgets the bodies of finished events received before `beforeMs`. */
  async function pruneBodies(beforeMs: number): Promise<number> {
    let pruned = 0;
    for (let first = findNext.get(0); typeof first === "number"; first = findNext.get(first + BATCH)) {
      const finished = listFinished
        .all({ first })
        .map(({ seq, handled }) => ({ seq, handled, receivedAtMs: findReceivedAt.get(seq) }));
      // Without a body it was forgotten by a run that ended before its last step.
      const old = finished.filter(({ receivedAtMs = 0 }) => receivedAtMs < beforeMs);
      if (old.length > 0) pruned += await pruneBatch(old, beforeMs);
      // Events stand in the order in which they were received, so the first batch with a younger one is the last.
      if (old.length < finished.length) break;
      await pause();
    }
    return pruned;
  }

  async function pruneBatch(batch: readonly Finished[], beforeMs: number): Promise<number> {
    const marked = await write(() => batch.filter(({ seq }) => mark.run({ seq }).changes > 0));
    sync();
    const forgetAll = inbox.transaction(() => {
      for (const { seq, handled, receivedAtMs } of marked) {
        if (receivedAtMs !== undefined) forget.run(handled, seq);
      }
      remember.run(beforeMs);
    });
    forgetAll.immediate();
    await write(() => countDeleted.run(marked.filter(({ seq }) => deleteEvent(seq)).length));
    return marked.length;
  }

  function deleteEvent(seq: number): boolean {
    deleteSteps.run({ seq });
    return deleteJobs.run({ seq }).changes > 0;
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
