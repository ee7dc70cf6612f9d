import type Database from "better-sqlite3";
import { HELD } from "./schema.ts";

const OF_LANE = `handler = $handler AND key = $key AND key IS NOT NULL AND state IN ('waiting', 'running')`;
const FIND_RUNNING = `SELECT event FROM jobs INDEXED BY jobs_keyed WHERE ${OF_LANE} AND state = 'running' LIMIT 1`;
const LIST_FIRST = `
  SELECT event, due_at_ms AS dueAtMs FROM jobs INDEXED BY jobs_keyed WHERE ${OF_LANE} AND state = 'waiting' ORDER BY event LIMIT 2`;
const SET_DUE = `UPDATE jobs SET due_at_ms = $dueAtMs WHERE event = $event AND handler = $handler AND state = 'waiting'`;

type Changed = { event: number; handler: number; key: string | null };

/**
 * Keeps the order of jobs with a key: of each handler's unfinished jobs of one key only the first may be due, and none
 * while one of them runs. To be called, within the transaction, after a job was ended, requeued or discarded.
 */
export function createLanes(db: Database.Database) {
  const findRunning = db.prepare<[Changed], number>(FIND_RUNNING).pluck();
  const listFirst = db.prepare<[Changed], { event: number; dueAtMs: number }>(LIST_FIRST);
  const setDue = db.prepare<[{ event: number; handler: number; dueAtMs: number }]>(SET_DUE);

  return (changed: Changed, nowMs: number): void => {
    if (changed.key === null) return;
    const { event, handler } = changed;
    const [first, second] = listFirst.all(changed);
    const isRunning = findRunning.get(changed) !== undefined;
    if (isRunning || first?.event !== event) setDue.run({ event, handler, dueAtMs: HELD });
    if (isRunning || !first) return;
    if (first.dueAtMs === HELD) setDue.run({ event: first.event, handler, dueAtMs: nowMs });
    // It was the first until the changed one came back before it.
    if (first.event === event && second && second.dueAtMs !== HELD)
      setDue.run({ event: second.event, handler, dueAtMs: HELD });
  };
}
