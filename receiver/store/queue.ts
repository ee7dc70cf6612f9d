import type Database from "better-sqlite3";
import { z } from "zod";
import { causeOfError } from "../../shared/causes.ts";
import { jobErrorsSchema, keyOf, withError } from "./job-rules.ts";
import type { Ending } from "./port.ts";
import { HELD, NOBODY } from "./schema.ts";

const LATEST = `SELECT max(announced) FROM handlers`;
const LIST = `SELECT number, name, types, key FROM handlers WHERE announced = ? AND number <> ${String(NOBODY)} ORDER BY name`;
const FIND_NUMBER = `SELECT number FROM handlers WHERE name = ?`;

/** The unfinished jobs of a handler that have one key. */
const OF_KEY = `handler = $handler AND key = $key AND key IS NOT NULL AND state IN ('waiting', 'running')`;
const ADD_JOB = `
  INSERT OR IGNORE INTO jobs (event, handler, state, key, due_at_ms, waiting_since_ms)
  VALUES ($event, $handler, 'waiting', $key, iif(EXISTS (SELECT 1 FROM jobs WHERE ${OF_KEY}), ${String(HELD)}, $nowMs), $nowMs)`;
const ADD_UNWANTED = `
  INSERT OR IGNORE INTO jobs (event, handler, state, due_at_ms, waiting_since_ms, finished_at_ms)
  VALUES ($event, ${String(NOBODY)}, 'ignored', 0, $nowMs, $nowMs)`;

const FINISH = `
  UPDATE jobs SET state = 'done', handled = handled + 1, finished_at_ms = $nowMs
  WHERE event = $event AND handler = $handler AND state = 'running' AND attempts = $attempt`;
const END = `
  UPDATE jobs SET state = $state, attempts = attempts - $uncounted, deferred = $deferred, due_at_ms = $dueAtMs,
    errors = $errors, cause = $cause, finished_at_ms = iif($state = 'dead', $nowMs, NULL)
  WHERE event = $event AND handler = $handler AND state = 'running' AND attempts = $attempt`;
const FORGET_STEPS = `DELETE FROM steps WHERE event = ? AND handler = ?`;
/** Of the waiting jobs of a key only the first may be due, and none while one runs. Looks at those that may have changed. */
const SETTLE = `
  WITH first AS MATERIALIZED (
    SELECT event FROM jobs INDEXED BY jobs_keyed WHERE ${OF_KEY} AND state = 'waiting' ORDER BY event LIMIT 2)
  UPDATE jobs SET due_at_ms = iif(
    event = (SELECT min(event) FROM first)
      AND NOT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_keyed WHERE ${OF_KEY} AND state = 'running'),
    iif(due_at_ms = ${String(HELD)}, $nowMs, due_at_ms), ${String(HELD)})
  WHERE handler = $handler AND event IN (SELECT event FROM first UNION SELECT $event) AND state = 'waiting'`;

/** A handler as the worker announced it last. */
export type Announced = {
  number: number;
  name: string;
  types: readonly string[] | "*";
  key: readonly string[];
};
/** The handlers that are in use, with the number of their announcement; 0 before the first. */
export type Announcement = { announced: number; handlers: readonly Announced[] };

/** A job whose key has to be settled, and what else is needed to end its attempt. */
export type Keyed = { event: number; handler: number; key: string | null };
export type Running = Keyed & { attempt: number; errors: string | null };

const typesSchema = z.union([z.literal("*"), z.array(z.string())]);
const keySchema = z.array(z.string());

export type Queue = ReturnType<typeof createQueue>;

/** Makes, ends and orders jobs. All of it is called within a transaction. */
export function createQueue(db: Database.Database) {
  const findLatest = db.prepare<[], number>(LATEST).pluck();
  const list = db.prepare<[number], { number: number; name: string; types: string; key: string }>(LIST);
  const findNumber = db.prepare<[string], number>(FIND_NUMBER).pluck();
  const addJob = db.prepare<[Keyed & { nowMs: number }]>(ADD_JOB);
  const addUnwanted = db.prepare<[{ event: number; nowMs: number }]>(ADD_UNWANTED);
  const finish = db.prepare<[Running & { nowMs: number }]>(FINISH);
  const endAttempt = db.prepare<[Running & ReturnType<typeof valuesOf>]>(END);
  const forgetSteps = db.prepare<[number, number]>(FORGET_STEPS);
  const settleKey = db.prepare<[Keyed & { nowMs: number }]>(SETTLE);
  let known: Announcement = { announced: 0, handlers: [] };

  return { announced, numberOf: (name: string) => findNumber.get(name), add, addOrIgnore, end, settle };

  /** The latest announcement; its handlers are read again only after another one. */
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

  /** Makes a job for each of these handlers that wants the event and has none. Returns how many were made. */
  function add(
    { seq, type, envelope }: { seq: number; type: string; envelope: unknown },
    handlers: readonly Announced[],
    nowMs: number,
  ): number {
    let made = 0;
    for (const { number, types, key } of handlers)
      if (types === "*" || types.includes(type))
        made += addJob.run({
          event: seq,
          handler: number,
          key: keyOf(envelope, key),
          nowMs,
        }).changes;
    return made;
  }

  /** As `add`, for an event that has no job. If no handler wants it, it is ignored. */
  function addOrIgnore(...given: Parameters<typeof add>): void {
    const [{ seq }, , nowMs] = given;
    if (add(...given) === 0) addUnwanted.run({ event: seq, nowMs });
  }

  /** Writes down how an attempt ended; false if the job is no longer this attempt's. */
  function end(row: Running, ending: Ending, nowMs: number): boolean {
    const { changes } =
      ending.kind === "done"
        ? finish.run({ ...row, nowMs })
        : endAttempt.run({ ...row, ...valuesOf(row, ending, nowMs) });
    if (changes === 0) return false;
    if (ending.kind === "done") forgetSteps.run(row.event, row.handler);
    settle(row, nowMs);
    return true;
  }

  /** Restores the order of a job's key, after the job has been ended, requeued or discarded. */
  function settle({ event, handler, key }: Keyed, nowMs: number): void {
    if (key !== null) settleKey.run({ event, handler, key, nowMs });
  }
}

function valuesOf({ attempt, errors }: Running, ending: Exclude<Ending, { kind: "done" }>, nowMs: number) {
  const { kind } = ending;
  const isDead = kind === "dead";
  const before = errors === null ? [] : jobErrorsSchema.parse(JSON.parse(errors));
  return {
    state: isDead ? "dead" : "waiting",
    uncounted: kind === "later" || kind === "returned" ? 1 : 0,
    deferred: kind === "later" ? 1 : 0,
    dueAtMs: isDead ? 0 : nowMs + ("delayMs" in ending ? ending.delayMs : 0),
    errors:
      kind === "returned"
        ? errors
        : JSON.stringify(withError(before, { attempt, atMs: nowMs, error: ending.error })),
    cause: isDead ? causeOfError(ending.error) : null,
    nowMs,
  };
}
