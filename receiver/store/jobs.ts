import type { Clock } from "../clock.ts";
import type { DatabaseFile } from "./database.ts";
import { createHandlerSql } from "./handler-sql.ts";
import { JobLost, type Job, type Jobs } from "./port.ts";
import type { Queue, Running } from "./queue.ts";
import { idOfBytes } from "./schema.ts";

const FIND_DUE = `
  SELECT event FROM jobs INDEXED BY jobs_open
  WHERE handler = $handler AND state = 'waiting' AND state <> 'done' AND due_at_ms <= $nowMs
  ORDER BY due_at_ms, event LIMIT $limit`;
const CLAIM = `
  UPDATE jobs SET state = 'running', attempts = attempts + 1, deferred = 0, due_at_ms = 0 WHERE event = ? AND handler = ?
  RETURNING event, handler, attempts AS attempt, key, waiting_since_ms AS waitingSinceMs, errors`;
const FIND_EVENT = `SELECT id, type, body, received_at_ms AS receivedAtMs FROM events WHERE seq = ?`;
const FIND_STEP = `SELECT result FROM steps WHERE event = ? AND handler = ? AND name = ?`;
const RECORD_STEP = `
  INSERT INTO steps SELECT event, handler, $name, $json FROM jobs
  WHERE event = $event AND handler = $handler AND state = 'running' AND attempts = $attempt
  ON CONFLICT (event, handler, name) DO UPDATE SET result = excluded.result`;

type EventRow = { id: Buffer; type: string; body: Buffer; receivedAtMs: number };

/** Hands out jobs to this process, if it is the worker, and writes down how they end. */
export function createJobs({ db, write }: DatabaseFile, queue: Queue, clock: Clock): Omit<Jobs, "begin"> {
  const findDue = db.prepare<[Record<string, number>], number>(FIND_DUE).pluck();
  const claim = db.prepare<[number, number], Running & { waitingSinceMs: number }>(CLAIM);
  const findEvent = db.prepare<[number], EventRow>(FIND_EVENT);
  const findStep = db.prepare<[number, number, string], string>(FIND_STEP).pluck();
  const recordStep = db.prepare<[Running & { name: string; json: string }]>(RECORD_STEP);
  const sql = createHandlerSql(db);
  const rows = new WeakMap<Job, Running>();

  return {
    claim: async (name, limit) => {
      const handler = queue.numberOf(name);
      if (handler === undefined) throw new Error(`No handler "${name}" was announced.`);
      const due = () => findDue.all({ handler, nowMs: clock.nowMs(), limit });
      // Most looks find nothing, and do not ask for the lock.
      if (limit <= 0 || due().length === 0) return [];
      return write(() => due().flatMap((event) => claimed(event, handler, name) ?? []));
    },

    end: async (job, ending) => write(() => queue.end(rowOf(job), ending, clock.nowMs())),

    atomically: async (job, work, signal) =>
      write(async (turn) => {
        signal.throwIfAborted();
        if (!queue.end(rowOf(job), { kind: "done" }, clock.nowMs())) throw new JobLost(job);
        const result = await sql.during(turn, work);
        signal.throwIfAborted();
        return result;
      }),

    query: async (text, parameters) =>
      write(async (turn) => sql.during(turn, async (own) => own.query(text, parameters))),

    findStep: async (job, name) => {
      const { event, handler } = rowOf(job);
      return findStep.get(event, handler, name);
    },

    recordStep: async (job, name, json) => {
      const { changes } = await write(() => recordStep.run({ ...rowOf(job), name, json }));
      if (changes === 0) throw new JobLost(job);
    },
  };

  function claimed(event: number, handler: number, name: string): Job | undefined {
    const row = claim.get(event, handler);
    const found = findEvent.get(event);
    if (!row || !found) return undefined;
    const job = {
      handler: name,
      id: idOfBytes(found.id),
      type: found.type,
      body: found.body.toString("utf8"),
      attempt: row.attempt,
      receivedAtMs: found.receivedAtMs,
      waitingSinceMs: row.waitingSinceMs,
    };
    rows.set(job, row);
    return job;
  }

  function rowOf(job: Job): Running {
    const row = rows.get(job);
    if (!row) throw new Error(`The job of ${job.handler} for ${job.id} was not claimed here.`);
    return row;
  }
}
