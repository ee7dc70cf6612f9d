import { syncCommits, type Files } from "./database.ts";

/** Deleting holds the write lock: this many events at a time. */
const BATCH = 200;

type Of = { seq: number };

const FIND_NEXT = `SELECT min(job) / 1024 FROM jobs WHERE job >= ? * 1024`;
const OF_EVENT = `job BETWEEN $seq * 1024 AND $seq * 1024 + 1023`;
const IS_FINISHED = `(state = 'done' OR state = 'ignored' OR state = 'pruned')`;
const FIND_RECEIVED_AT = `SELECT received_at_ms FROM events WHERE seq = ? AND body IS NOT NULL`;
const FIND_NEXT_ID = `SELECT seq, received_at_ms AS receivedAtMs FROM events WHERE seq >= ? ORDER BY seq LIMIT 1`;
// Never the newest: the next event would get its seq, and the work file has been there already.
const DELETE_IDS = `
  DELETE FROM events WHERE seq BETWEEN $first AND $first + ${String(BATCH)} - 1 AND received_at_ms < $beforeMs
    AND body IS NULL AND seq < (SELECT max(seq) FROM events)`;

/**
 * Deletes what has been kept long enough. Only finished events: dead letters and unfinished ones stay until somebody
 * deals with them. Each batch is one transaction on the work file, so that nobody can requeue an event meanwhile:
 *
 *   1. the work file is synced: a power cut can no longer take back `done`, nor the effects of its handler
 *   2. the inbox file forgets all but the ids, and is synced
 *   3. the work file deletes its rows
 *
 * After a power cut before the third, the rows have no body in the inbox file, and the next run deletes them.
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
  // What reconcile found keeps its object for as long as its id: the service's own event may still come, with another id.
  const forget = inbox.prepare<[number, number]>(`
    UPDATE events SET body = NULL, trace = NULL, handled = ?, duplicates = 0,
      type = CASE source WHEN 'reconcile' THEN type ELSE '' END,
      object_id = CASE source WHEN 'reconcile' THEN object_id END
    WHERE seq = ? AND body IS NOT NULL`);
  const remember = inbox.prepare<[number]>(`UPDATE identity SET pruned_before_ms = max(pruned_before_ms, ?)`);
  const deleteJobs = db.prepare<[Of]>(`DELETE FROM jobs WHERE ${OF_EVENT}`);
  const deleteSteps = db.prepare<[Of]>(`DELETE FROM steps WHERE ${OF_EVENT}`);
  const countDeleted = db.prepare<[number]>(`UPDATE position SET deleted = deleted + ?`);
  const findNextId = inbox.prepare<[number], Of & { receivedAtMs: number }>(FIND_NEXT_ID);
  const deleteIds = inbox.prepare<[{ first: number; beforeMs: number }]>(DELETE_IDS);
  const deleteAliases = inbox.prepare<[number]>(`DELETE FROM aliases WHERE received_at_ms < ?`);

  return { pruneBodies, pruneIds };

  /** Forgets the bodies of finished events received before `beforeMs`. */
  async function pruneBodies(beforeMs: number): Promise<number> {
    let pruned = 0;
    for (let next = findNext.get(0); typeof next === "number"; next = findNext.get(next + BATCH)) {
      const first = next;
      const batch = await write(() => pruneBatch(first, beforeMs));
      pruned += batch.pruned;
      // Events stand in the order in which they were received, so the first batch with a younger one is the last.
      if (batch.hasYounger) break;
      await pause();
    }
    return pruned;
  }

  function pruneBatch(first: number, beforeMs: number): { pruned: number; hasYounger: boolean } {
    const finished = listFinished.all({ first });
    const old = finished.filter(({ seq }) => (findReceivedAt.get(seq) ?? 0) < beforeMs);
    if (old.length > 0) {
      sync();
      const forgetAll = inbox.transaction(() => {
        for (const { seq, handled } of old) forget.run(handled, seq);
        remember.run(beforeMs);
      });
      forgetAll.immediate();
      for (const { seq } of old) {
        deleteSteps.run({ seq });
        deleteJobs.run({ seq });
      }
      countDeleted.run(old.length);
    }
    return { pruned: old.length, hasYounger: old.length < finished.length };
  }

  /** Forgets the ids of events received before `beforeMs` whose bodies are forgotten. */
  async function pruneIds(beforeMs: number): Promise<number> {
    let pruned = 0;
    for (let next = findNextId.get(0); next; next = findNextId.get(next.seq + BATCH)) {
      if (next.receivedAtMs >= beforeMs) break;
      pruned += deleteIds.run({ first: next.seq, beforeMs }).changes;
      await pause();
    }
    deleteAliases.run(beforeMs);
    return pruned;
  }
}
