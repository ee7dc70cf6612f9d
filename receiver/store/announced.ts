import type Database from "better-sqlite3";
import { z } from "zod";
import { keyOf } from "./keys.ts";
import { HELD, NOBODY } from "./schema.ts";

/** A handler as the worker announced it last. */
export type Announced = {
  number: number;
  name: string;
  types: readonly string[] | "*";
  key: readonly string[];
};

/** The handlers that are in use, with the number of their announcement; 0 before the first. */
export type Announcement = { announced: number; handlers: readonly Announced[] };

const LATEST = `SELECT max(announced) FROM handlers`;
const LIST = `SELECT number, name, types, key FROM handlers WHERE announced = ? AND number <> ${String(NOBODY)} ORDER BY name`;
const FIND_NUMBER = `SELECT number FROM handlers WHERE name = ?`;
const BUSY_LANE = `
  SELECT 1 FROM jobs WHERE handler = $handler AND key = $key AND key IS NOT NULL AND state IN ('waiting', 'running')`;
const ADD_JOB = `
  INSERT OR IGNORE INTO jobs (event, handler, state, key, due_at_ms, waiting_since_ms)
  VALUES ($event, $handler, 'waiting', $key, iif(EXISTS (${BUSY_LANE}), ${String(HELD)}, $nowMs), $nowMs)`;
const ADD_UNWANTED = `
  INSERT OR IGNORE INTO jobs (event, handler, state, due_at_ms, waiting_since_ms, finished_at_ms)
  VALUES ($event, ${String(NOBODY)}, 'ignored', 0, $nowMs, $nowMs)`;

const typesSchema = z.union([z.literal("*"), z.array(z.string())]);
const keySchema = z.array(z.string());

type Event = { seq: number; type: string; envelope: unknown };

/** Makes the jobs of events. All of it is called within a transaction. */
export function createJobMaker(db: Database.Database) {
  const findLatest = db.prepare<[], number>(LATEST).pluck();
  const list = db.prepare<[number], { number: number; name: string; types: string; key: string }>(LIST);
  const findNumber = db.prepare<[string], number>(FIND_NUMBER).pluck();
  const addJob = db.prepare<[Record<string, number | string | null>]>(ADD_JOB);
  const addUnwanted = db.prepare<[{ event: number; nowMs: number }]>(ADD_UNWANTED);
  let known: Announcement = { announced: 0, handlers: [] };

  return {
    latest,
    announced,
    numberOf,
    addJobs,
    addUnwanted: (event: number, nowMs: number) => addUnwanted.run({ event, nowMs }),
  };

  /** The number of the latest announcement; 0 before the first. */
  function latest(): number {
    return findLatest.get() ?? 0;
  }

  function numberOf(name: string): number | undefined {
    return findNumber.get(name);
  }

  /** The latest announcement; its handlers are read again only after another one. */
  function announced(): Announcement {
    const number = latest();
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

  /** Makes a job for each of these handlers that wants the event, unless it has one. Returns how many want it. */
  function addJobs(event: Event, handlers: readonly Announced[], nowMs: number): number {
    const wanting = handlers.filter(({ types }) => types === "*" || types.includes(event.type));
    for (const { number, key } of wanting)
      addJob.run({ event: event.seq, handler: number, key: keyOf(event.envelope, key), nowMs });
    return wanting.length;
  }
}
