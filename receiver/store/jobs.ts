import type Database from "better-sqlite3";
import { z } from "zod";
import type { Clock } from "../clock.ts";
import type { DatabaseFile } from "./database.ts";
import { createHandlerSql } from "./handler-sql.ts";
import { HELD, keyOf, writtenOf } from "./job-rules.ts";
import { JobLost, type Ending, type Job, type Jobs } from "./port.ts";
import { idOfBytes, UNWANTED } from "./schema.ts";

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

/** Claims jobs for this process, if it is the worker, and records how their attempts end. */
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
      const due = (most: number) => findDue.all({ handler, nowMs: clock.nowMs(), limit: most });
      // Most polls find nothing, so they do not take the lock.
      if (limit <= 0 || due(1).length === 0) return [];
      return write(() => due(limit).flatMap((event) => claimed(event, handler, name) ?? []));
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

const LATEST = `SELECT max(announced) FROM handlers`;
const LIST = `SELECT number, name, types, key FROM handlers WHERE announced = ? AND number <> ${String(UNWANTED)} ORDER BY name`;
const FIND_NUMBER = `SELECT number FROM handlers WHERE name = ?`;

/** The unfinished jobs of a handler with one key. */
const OF_KEY = `handler = $handler AND key = $key AND key IS NOT NULL AND state IN ('waiting', 'running')`;
const ADD_JOB = `
  INSERT OR IGNORE INTO jobs (event, handler, state, key, due_at_ms, waiting_since_ms)
  VALUES ($event, $handler, 'waiting', $key, iif(EXISTS (SELECT 1 FROM jobs WHERE ${OF_KEY}), ${String(HELD)}, $nowMs), $nowMs)`;
const ADD_UNWANTED = `
  INSERT INTO jobs (event, handler, state, due_at_ms, waiting_since_ms, finished_at_ms)
  SELECT $event, ${String(UNWANTED)}, 'ignored', 0, $nowMs, $nowMs WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE event = $event)`;
const FORGET_UNWANTED = `DELETE FROM jobs WHERE event = ? AND handler = ${String(UNWANTED)}`;

const END = `
  UPDATE jobs SET state = $state, attempts = attempts - $uncounted, handled = handled + ($state = 'done'), deferred = $deferred,
    due_at_ms = $dueAtMs, errors = $errors, cause = $cause, finished_at_ms = iif($state = 'waiting', NULL, $nowMs)
  WHERE event = $event AND handler = $handler AND state = 'running' AND attempts = $attempt`;
const FORGET_STEPS = `DELETE FROM steps WHERE event = ? AND handler = ?`;
/** Of the waiting jobs with a key only the first may be due, and none while another runs. Updates those that may change. */
const SETTLE = `
  WITH first AS MATERIALIZED (
    SELECT event FROM jobs INDEXED BY jobs_keyed WHERE ${OF_KEY} AND state = 'waiting' ORDER BY event LIMIT 2)
  UPDATE jobs SET due_at_ms = iif(
    event = (SELECT min(event) FROM first)
      AND NOT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_keyed WHERE ${OF_KEY} AND state = 'running'),
    iif(due_at_ms = ${String(HELD)}, $nowMs, due_at_ms), ${String(HELD)})
  WHERE handler = $handler AND event IN (SELECT event FROM first UNION SELECT $event) AND state = 'waiting'`;

/** A handler as the worker last announced it. */
export type Announced = {
  number: number;
  name: string;
  types: readonly string[] | "*";
  key: readonly string[];
};
/** The handlers in use, with the number of their announcement; 0 before the first. */
export type Announcement = { announced: number; handlers: readonly Announced[] };

/** A job whose key must be settled after its attempt ended. */
export type Keyed = { event: number; handler: number; key: string | null };
export type Running = Keyed & { attempt: number; errors: string | null };

const typesSchema = z.union([z.literal("*"), z.array(z.string())]);
const keySchema = z.array(z.string());

export type Queue = ReturnType<typeof createQueue>;

/** Makes, ends and orders jobs. Every call is made within a transaction. */
export function createQueue(db: Database.Database) {
  const findLatest = db.prepare<[], number>(LATEST).pluck();
  const list = db.prepare<[number], { number: number; name: string; types: string; key: string }>(LIST);
  const findNumber = db.prepare<[string], number>(FIND_NUMBER).pluck();
  const addJob = db.prepare<[Keyed & { nowMs: number }]>(ADD_JOB);
  const addUnwanted = db.prepare<[{ event: number; nowMs: number }]>(ADD_UNWANTED);
  const forgetUnwanted = db.prepare<[number]>(FORGET_UNWANTED);
  const endAttempt = db.prepare<[Running & ReturnType<typeof valuesOf>]>(END);
  const forgetSteps = db.prepare<[number, number]>(FORGET_STEPS);
  const settleKey = db.prepare<[Keyed & { nowMs: number }]>(SETTLE);
  const numbers = new Map<string, number>();
  let known: Announcement = { announced: 0, handlers: [] };

  return { announced, numberOf, add, offer, ignore, end, settle };

  /** The latest announcement. Its handlers are read again only after a new one. */
  function announced(): Announcement {
    const number = findLatest.get() ?? 0;
    if (number !== known.announced)
      known = {
        announced: number,
        handlers: list.all(number).map((row) => ({
          ...row,
          types: typesSchema.parse(JSON.parse(row.types)),
          key: keySchema.parse(JSON.parse(row.key)),
        })),
      };
    return known;
  }

  /** The number of a handler, which never changes. */
  function numberOf(name: string): number | undefined {
    const number = numbers.get(name) ?? findNumber.get(name);
    if (number !== undefined) numbers.set(name, number);
    return number;
  }

  /** Makes a job for each of these handlers that wants the event and has none yet. Returns how many were made. */
  function add(
    { seq, type, envelope }: { seq: number; type: string; envelope: unknown },
    handlers: readonly Announced[],
    nowMs: number,
  ): number {
    let made = 0;
    for (const { number, types, key } of handlers)
      if (types === "*" || types.includes(type))
        made += addJob.run({ event: seq, handler: number, key: keyOf(envelope, key), nowMs }).changes;
    return made;
  }

  /** Like `add`, for an event that may have been unwanted. Returns whether it made a job. */
  function offer(...given: Parameters<typeof add>): boolean {
    const isWanted = add(...given) > 0;
    if (isWanted) forgetUnwanted.run(given[0].seq);
    return isWanted;
  }

  /** Ends an event as ignored if it has no job. */
  function ignore(event: number, nowMs: number): void {
    addUnwanted.run({ event, nowMs });
  }

  /** Records how an attempt ended; false if the job no longer belongs to this attempt. */
  function end(row: Running, ending: Ending, nowMs: number): boolean {
    const { changes } = endAttempt.run({ ...row, ...valuesOf(row, ending, nowMs) });
    if (changes === 0) return false;
    if (ending.kind === "done") forgetSteps.run(row.event, row.handler);
    settle(row, nowMs);
    return true;
  }

  /** Restores the order of a key after one of its jobs was ended, requeued or discarded. */
  function settle({ event, handler, key }: Keyed, nowMs: number): void {
    if (key !== null) settleKey.run({ event, handler, key, nowMs });
  }
}

function valuesOf(row: Running, ending: Ending, nowMs: number) {
  const written = writtenOf(ending, row, nowMs);
  return { ...written, dueAtMs: written.state === "waiting" ? nowMs + written.delayMs : 0, nowMs };
}
