import type Database from "better-sqlite3";
import { causeOfError } from "../../shared/causes.ts";
import type { Clock } from "../clock.ts";
import { createJobMaker } from "./announced.ts";
import type { DatabaseFile } from "./database.ts";
import { jobErrorsSchema, withError } from "./failures.ts";
import { createHandlerSql } from "./handler-sql.ts";
import { createLanes } from "./lanes.ts";
import { JobLost, type Ending, type Job, type JobError, type Jobs } from "./port.ts";
import { idOfBytes } from "./schema.ts";
import { createWorkerRole } from "./worker-role.ts";

const FIND_DUE = `
  SELECT event FROM jobs INDEXED BY jobs_unfinished
  WHERE handler = $handler AND state IN ('waiting', 'running') AND state = 'waiting' AND due_at_ms <= $nowMs
  ORDER BY due_at_ms, event LIMIT $limit`;
const CLAIM = `
  UPDATE jobs SET state = 'running', attempts = attempts + 1, deferred = 0 WHERE event = ? AND handler = ?
  RETURNING attempts AS attempt, key, waiting_since_ms AS waitingSinceMs, errors`;
const FIND_EVENT = `SELECT id, type, body, received_at_ms AS receivedAtMs FROM events WHERE seq = ?`;
const FINISH = `
  UPDATE jobs SET state = 'done', handled = handled + 1, finished_at_ms = $nowMs
  WHERE event = $event AND handler = $handler AND state = 'running' AND attempts = $attempt`;
const END = `
  UPDATE jobs SET state = $state, attempts = attempts - $uncounted, deferred = $deferred, due_at_ms = $dueAtMs,
    errors = $errors, cause = $cause, finished_at_ms = iif($state = 'dead', $nowMs, NULL)
  WHERE event = $event AND handler = $handler AND state = 'running' AND attempts = $attempt`;
const FORGET_STEPS = `DELETE FROM steps WHERE event = ? AND handler = ?`;
const FIND_STEP = `SELECT result FROM steps WHERE event = ? AND handler = ? AND name = ?`;
const RECORD_STEP = `
  INSERT INTO steps SELECT event, handler, $name, $json FROM jobs
  WHERE event = $event AND handler = $handler AND state = 'running' AND attempts = $attempt
  ON CONFLICT (event, handler, name) DO UPDATE SET result = excluded.result`;

/** A running job's row: all that is needed to end it. */
export type Running = {
  event: number;
  handler: number;
  attempt: number;
  key: string | null;
  errors: string | null;
};

type EventRow = { id: Buffer; type: string; body: Buffer; receivedAtMs: number };

/** Hands out jobs to this process, if it is the worker, and writes down how they end. */
export function createJobs(file: DatabaseFile, clock: Clock): Jobs & { resign: () => void } {
  const { db, write } = file;
  const findDue = db.prepare<[{ handler: number; nowMs: number; limit: number }], { event: number }>(
    FIND_DUE,
  );
  const claim = db.prepare<[number, number], Omit<Running, "event" | "handler"> & { waitingSinceMs: number }>(
    CLAIM,
  );
  const findEvent = db.prepare<[number], EventRow>(FIND_EVENT);
  const findStep = db.prepare<[number, number, string], string>(FIND_STEP).pluck();
  const recordStep = db.prepare<[Running & { name: string; json: string }]>(RECORD_STEP);
  const endRunning = createEnding(db);
  const sql = createHandlerSql(db);
  const role = createWorkerRole({ file, clock, endRunning });
  const { numberOf } = createJobMaker(db);
  const rows = new WeakMap<Job, Running>();

  return {
    ...role,

    claim: async (name, limit) => {
      const handler = numberOf(name);
      if (handler === undefined) throw new Error(`No handler "${name}" was announced.`);
      const due = () => findDue.all({ handler, nowMs: clock.nowMs(), limit });
      // Most looks find nothing, and do not ask for the lock.
      if (limit <= 0 || due().length === 0) return [];
      return write(() => due().flatMap(({ event }) => claimed(event, handler, name) ?? []));
    },

    end: async (job, ending) => write(() => endRunning(rowOf(job), ending, clock.nowMs())),

    atomically: async (job, work, signal) =>
      write(async (turn) => {
        signal.throwIfAborted();
        if (!endRunning(rowOf(job), { kind: "done" }, clock.nowMs())) throw new JobLost(job);
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

  function rowOf(job: Job): Running {
    const row = rows.get(job);
    if (!row) throw new Error(`The job of ${job.handler} for ${job.id} was not claimed here.`);
    return row;
  }

  function claimed(event: number, handler: number, name: string): Job | undefined {
    const row = claim.get(event, handler);
    const found = findEvent.get(event);
    if (!row || !found) return undefined;
    const { waitingSinceMs, ...running } = row;
    const job = {
      handler: name,
      id: idOfBytes(found.id),
      type: found.type,
      body: found.body.toString("utf8"),
      attempt: row.attempt,
      receivedAtMs: found.receivedAtMs,
      waitingSinceMs,
    };
    rows.set(job, { event, handler, ...running });
    return job;
  }
}

export type EndRunning = (row: Running, ending: Ending, nowMs: number) => boolean;

/** Writes down how an attempt ended, within a transaction of the caller's; false if the job is no longer this attempt's. */
function createEnding(db: Database.Database): EndRunning {
  const finish = db.prepare<[Record<string, unknown>]>(FINISH);
  const end = db.prepare<[Record<string, unknown>]>(END);
  const forgetSteps = db.prepare<[number, number]>(FORGET_STEPS);
  const settleLane = createLanes(db);

  return (row, ending, nowMs) => {
    const { changes } =
      ending.kind === "done"
        ? finish.run({ ...row, nowMs })
        : end.run({ ...row, ...valuesOf(row, ending, nowMs) });
    if (changes === 0) return false;
    if (ending.kind === "done") forgetSteps.run(row.event, row.handler);
    settleLane(row, nowMs);
    return true;
  };
}

function valuesOf({ attempt, errors }: Running, ending: Exclude<Ending, { kind: "done" }>, nowMs: number) {
  const { kind } = ending;
  const isDead = kind === "dead";
  return {
    state: isDead ? "dead" : "waiting",
    uncounted: kind === "later" || kind === "returned" ? 1 : 0,
    deferred: kind === "later" ? 1 : 0,
    dueAtMs: nowMs + ("delayMs" in ending ? ending.delayMs : 0),
    errors: kind === "returned" ? errors : errorsAfter(errors, { attempt, atMs: nowMs, error: ending.error }),
    cause: isDead ? causeOfError(ending.error) : null,
    nowMs,
  };
}

function errorsAfter(errors: string | null, error: JobError): string {
  const before = errors === null ? [] : jobErrorsSchema.parse(JSON.parse(errors));
  return JSON.stringify(withError(before, error));
}
