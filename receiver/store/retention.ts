import { setImmediate as nextTurn } from "node:timers/promises";
import type Database from "better-sqlite3";
import type { DatabaseFile } from "./database.ts";
import type { Ledger } from "./port.ts";

/** Rows in one transaction. */
const BATCH = 200;

const PRUNED_BEFORE = "pruned before";

const FIND_NEXT = `SELECT seq, received_at_ms AS receivedAtMs FROM events WHERE seq >= ? ORDER BY seq LIMIT 1`;
const LIST_BODIES = `
  SELECT seq FROM events WHERE seq BETWEEN $from AND $from + ${String(BATCH)} - 1 AND received_at_ms < $beforeMs AND body IS NOT NULL`;
const IS_FINISHED = `
  NOT EXISTS (SELECT 1 FROM jobs WHERE event = $seq AND state IN ('waiting', 'running', 'dead'))
  AND EXISTS (SELECT 1 FROM jobs WHERE event = $seq)`;
const FORGET = `
  UPDATE events SET body = NULL, duplicates = 0,
    handled = (SELECT max(handled) FROM jobs WHERE event = $seq),
    type = iif(source = 'reconcile', type, NULL), object_id = iif(source = 'reconcile', object_id, NULL),
    source = iif(source = 'reconcile', source, NULL)
  WHERE seq = $seq AND ${IS_FINISHED}`;
const DELETE_JOBS = `DELETE FROM jobs WHERE event = ?`;
const DELETE_STEPS = `DELETE FROM steps WHERE event = ?`;
const DELETE_IDS = `
  DELETE FROM events WHERE seq IN (
    SELECT seq FROM events WHERE received_at_ms < ? AND body IS NULL ORDER BY seq LIMIT ${String(BATCH)})`;
const FIND_BOOKMARK = `SELECT value FROM bookmarks WHERE name = '${PRUNED_BEFORE}'`;
const SET_BOOKMARK = `
  INSERT INTO bookmarks VALUES ('${PRUNED_BEFORE}', $value)
  ON CONFLICT (name) DO UPDATE SET value = max(CAST(value AS INTEGER), CAST($value AS INTEGER))`;

/** Forgets what has been kept long enough: bodies of finished events, later their ids. The file does not shrink. */
export function createRetention({
  db,
  write,
}: {
  db: Database.Database;
  write: DatabaseFile["write"];
}): Pick<Ledger, "prune" | "prunedBeforeMs"> {
  const findNext = db.prepare<[number], { seq: number; receivedAtMs: number }>(FIND_NEXT);
  const listBodies = db.prepare<[{ from: number; beforeMs: number }], number>(LIST_BODIES).pluck();
  const forget = db.prepare<[{ seq: number }]>(FORGET);
  const deleteJobs = db.prepare<[number]>(DELETE_JOBS);
  const deleteSteps = db.prepare<[number]>(DELETE_STEPS);
  const deleteIds = db.prepare<[number]>(DELETE_IDS);
  const findBookmark = db.prepare<[], string>(FIND_BOOKMARK).pluck();
  const setBookmark = db.prepare<[{ value: string }]>(SET_BOOKMARK);

  return {
    prune: async ({ bodiesMs, idsMs }) => ({
      bodies: await pruneBodies(bodiesMs),
      ids: await pruneIds(idsMs),
    }),
    prunedBeforeMs: async () => Number(findBookmark.get() ?? 0),
  };

  async function pruneBodies(beforeMs: number): Promise<number> {
    let pruned = 0;
    // Events are kept in the order in which they were received, so the first younger one ends the walk.
    for (
      let next = findNext.get(0);
      next && next.receivedAtMs < beforeMs;
      next = findNext.get(next.seq + BATCH)
    ) {
      const seqs = listBodies.all({ from: next.seq, beforeMs });
      if (seqs.length > 0)
        pruned += await write(() => {
          setBookmark.run({ value: String(beforeMs) });
          return seqs.filter(pruneBody).length;
        });
      await nextTurn();
    }
    return pruned;
  }

  function pruneBody(seq: number): boolean {
    if (forget.run({ seq }).changes === 0) return false;
    deleteSteps.run(seq);
    deleteJobs.run(seq);
    return true;
  }

  async function pruneIds(beforeMs: number): Promise<number> {
    let pruned = 0;
    for (;;) {
      const { changes } = await write(() => deleteIds.run(beforeMs));
      pruned += changes;
      if (changes < BATCH) return pruned;
      await nextTurn();
    }
  }
}
