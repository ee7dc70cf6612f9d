/**
 * The port between the receiver and its database. A store keeps events and one job of each event for each handler that
 * wants it. What it promises is written here and proved by one suite of tests (`test/receiver/store-suite`), which runs on
 * SQLite and on PostgreSQL.
 *
 * Life of a job (one event for one handler):
 *
 *     accept
 *       │
 *       ▼        claim: attempts + 1
 *    waiting ───────────────────────────▶ running
 *     ▲ ▲ │                                │ │ │
 *     │ │ │   failed: due after its backoff│ │ ├──▶ done      handled; its writes are committed with it
 *     │ │ └◀── later: put off, not counted ┘ │ └──▶ dead      failed for good, or once too often
 *     │ │        returned: not counted       │
 *     │ └─────── crashed: its process ended ─┘      (as failed: the attempt counts)
 *     │
 *     └── requeue ◀── dead, ignored, done  ignored: its handler is gone, or an operator discarded it
 *
 * A waiting job that has a `key` is *held* until no earlier job of the same handler and key is waiting or running. Dead
 * and ignored jobs hold nobody. An event that no handler wants has no job and counts as ignored. After RETENTION_DAYS
 * the body of an event is pruned once all its jobs are done or ignored; its id stays for ID_RETENTION_DAYS, to recognize
 * a duplicate.
 */

import type { Ledger } from "./ledger-port.ts";

export type * from "./ledger-port.ts";

/** An event that was verified and parsed, not stored yet. */
export type NewEvent = {
  /** `evt_` and 32 hexadecimal characters; upper and lower case are the same id. */
  id: string;
  type: string;
  /** `data.object.id`, if there is one. */
  objectId: string | null;
  /** How it came: sent by the service, or found missing by `reconcile`. */
  source: "webhook" | "reconcile";
  /** The envelope, byte for byte as received. */
  body: Uint8Array;
  /** The envelope parsed: keys of jobs are read from it. */
  envelope: unknown;
};

/** Whether an event was new. If a duplicate has another body than the first, both hashes are given. */
export type Acceptance = { duplicate: boolean; differs?: { storedSha256: string; receivedSha256: string } };

/**
 * Why the database took nothing. All but `closed` and `corrupt` may pass without a restart. After `timeout` and
 * `outcome_unknown` the events may be stored all the same: the sender's retry is then a duplicate.
 */
export type Unavailable =
  | "busy"
  | "full"
  | "read_only"
  | "io_error"
  | "corrupt"
  | "overloaded"
  | "timeout"
  | "connection_lost"
  | "outcome_unknown"
  | "closed";

export type Refusal = { ok: false; reason: Unavailable; detail: string };

export type Intake = {
  /**
   * Stores new events with their jobs and recognizes duplicates: one row per event id, under any concurrency and any
   * number of processes. A webhook is also a duplicate if `reconcile` has enqueued an event of the same type and object
   * before, and the other way round. On `ok` all events of the batch are on disk; otherwise none is stored.
   */
  accept: (batch: readonly NewEvent[]) => Promise<{ ok: true; acceptances: Acceptance[] } | Refusal>;
  /** Whether the database takes writes now. */
  probe: () => Promise<{ ok: true } | Refusal>;
};

/** What the store has to know of a handler. */
export type JobHandler = {
  /** Unique; jobs and migrations are remembered under it. */
  name: string;
  /** Types of the events that it wants; `*` for every type, unknown ones too. */
  types: readonly string[] | "*";
  /** Paths in the envelope, such as `data.object.phone`, whose values make the key of a job; none: no order. */
  key: readonly string[];
  /** Lists are only appended to: how many have run is remembered under the handler's name. */
  migrations: readonly Migration[];
  maximumAttempts: number;
  /** Whole milliseconds until the next attempt after attempt `attempt` (from 1) failed. */
  backoffMs: (attempt: number) => number;
};

/** SQL that changes a handler's tables: one text for both databases, or one for each. */
export type Migration = string | { sqlite: string; postgres: string };

/** A claimed job. Stores may keep more of it under fields of their own. */
export type Job = {
  /** Name of its handler. */
  handler: string;
  /** Id of its event. */
  id: string;
  type: string;
  /** The envelope as text. */
  body: string;
  /** From 1; counted when the job was claimed. */
  attempt: number;
  receivedAtMs: number;
  /** When the event was stored, or the job was requeued last: MAX_AGE_HOURS counts from here. */
  waitingSinceMs: number;
};

/** How an attempt ends. Delays are whole milliseconds, 20 days at the most. */
export type Ending =
  | { kind: "done" }
  /** By the end of its process, if it `crashed`. */
  | { kind: "failed"; error: string; delayMs: number; crashed?: true }
  /** Put off by its handler: the attempt does not count. */
  | { kind: "later"; error: string; delayMs: number }
  | { kind: "dead"; error: string }
  /** Given back by a worker that stops: the attempt does not count, the job is due at once. */
  | { kind: "returned" };

/** One SQL statement with `$1`, `$2`, … as placeholders; returns its rows. */
export type HandlerDatabase = {
  query: (sql: string, parameters?: readonly SqlValue[]) => Promise<Record<string, unknown>[]>;
  /** On PostgreSQL the `pg` client of the transaction, for an ORM; undefined on SQLite. */
  client?: unknown;
};

export type SqlValue = string | number | bigint | boolean | null | Date | Uint8Array | { toJSON(): unknown };

export type Jobs = {
  /**
   * Makes this process the worker: waits until no other worker may run (SQLite), runs the handlers' migrations, announces
   * the handlers, makes the jobs that they lack of events that were stored before any announcement or while no worker was
   * at work, ends unfinished jobs of handlers that are gone as `ignored`, and ends attempts of workers that died as failed
   * or dead, by the handler's policy. Rejects with the signal's reason if it is aborted meanwhile.
   */
  begin: (handlers: readonly JobHandler[], signal: AbortSignal) => Promise<void>;
  /** Claims up to `limit` jobs of a handler that are due, the longest due first. */
  claim: (handler: string, limit: number) => Promise<Job[]>;
  /**
   * Ends the attempt. Returns false, and changes nothing, if the job is no longer this attempt's: it was done by its
   * `atomically`, or (PostgreSQL) it was given to another worker.
   */
  end: (job: Job, ending: Ending) => Promise<boolean>;
  /**
   * Runs `work` in a transaction that also makes the job `done`: both are committed, or neither. Rejects with `JobLost` if
   * the job is no longer this attempt's, and with the reason of `signal` if it is aborted before the commit. A statement
   * that begins or ends a transaction is refused. On SQLite `work` has to end within one turn of the event loop.
   */
  atomically: <Result>(
    job: Job,
    work: (db: HandlerDatabase) => Promise<Result>,
    signal: AbortSignal,
  ) => Promise<Result>;
  /** The recorded result of a step, as JSON; kept over attempts and requeues until the job is done. */
  findStep: (job: Job, name: string) => Promise<string | undefined>;
  /** Rejects with `JobLost` if the job is no longer this attempt's. */
  recordStep: (job: Job, name: string, json: string) => Promise<void>;
  /** One statement in a transaction of its own, by the rules of `atomically`: to read what handlers have written. */
  query: HandlerDatabase["query"];
  /** Calls back when jobs may have become due in another process. Only shortens the wait. Returns how to stop. */
  onArrival?: (callback: () => void) => () => void;
};

export type Store = {
  intake: Intake;
  jobs: Jobs;
  ledger: Ledger;
  /** The database's clock. */
  nowMs: () => Promise<number>;
  /** Ends the role of a worker, too. */
  close: () => Promise<void>;
};

/** The job is no longer this attempt's. Nothing was written. */
export class JobLost extends Error {
  override readonly name = "JobLost";

  constructor({ handler, id }: Pick<Job, "handler" | "id">) {
    super(`The job of ${handler} for ${id} is no longer this attempt's. Nothing was written.`);
  }
}
