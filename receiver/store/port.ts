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
 *     │ │ └◀── later: deferred, not counted┘ │ └──▶ dead      failed for good, or once too often
 *     │ │        returned: not counted       │
 *     │ └─────── crashed: its process ended ─┘      (as failed: the attempt counts)
 *     │
 *     └── requeue ◀── dead, ignored, done  ignored: its handler is gone, or an operator discarded it
 *
 * A waiting job that has a `key` is *held* until no earlier job of the same handler and key is waiting or running. Dead
 * and ignored jobs hold back no others. An event that no handler wants has no job and counts as ignored. After RETENTION_DAYS
 * the body of an event is pruned once all its jobs are done or ignored; its id stays for ID_RETENTION_DAYS, to recognize
 * a duplicate.
 */

import type { Ledger } from "./ledger-port.ts";

export type * from "./ledger-port.ts";

/** A verified and parsed event that is not stored yet. */
export type NewEvent = {
  /** `evt_` and 32 hexadecimal characters; upper and lower case are the same id. */
  id: string;
  type: string;
  /** `data.object.id`, if there is one. */
  objectId: string | null;
  /** Sent by the service, or found missing by `reconcile`. */
  source: "webhook" | "reconcile";
  /** The envelope, byte for byte as received. */
  body: Uint8Array;
  /** The parsed envelope: keys of jobs are read from it. */
  envelope: unknown;
};

/** Whether the event was a duplicate. If its body differs from the first one, both hashes are given. */
export type Acceptance = { duplicate: boolean; differs?: { storedSha256: string; receivedSha256: string } };

/**
 * Why the database stored nothing. All but `closed` and `corrupt` may pass without a restart. After `timeout` and
 * `outcome_unknown` the events may still be stored; the sender's retry is then a duplicate.
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
   * Stores new events with their jobs and recognizes duplicates: one row per event id, under any concurrency and any number
   * of processes. An event from a webhook and one from `reconcile` with the same type and object are duplicates of each
   * other. On `ok` all events of the batch are on disk; otherwise none is stored.
   */
  accept: (batch: readonly NewEvent[]) => Promise<{ ok: true; acceptances: Acceptance[] } | Refusal>;
  /** Whether the database accepts writes now. */
  probe: () => Promise<{ ok: true } | Refusal>;
};

/** What the store needs to know about a handler. */
export type JobHandler = {
  /** Unique: jobs and migrations are stored under it. */
  name: string;
  /** The types of event it wants; `*` for every type, including unknown ones. */
  types: readonly string[] | "*";
  /** Paths in the envelope, such as `data.object.phone`, whose values form the key of a job; empty for no order. */
  key: readonly string[];
  /** Append-only: the store remembers how many have run, by the handler's name. */
  migrations: readonly Migration[];
  maximumAttempts: number;
  /** Whole milliseconds to wait after attempt `attempt` (from 1) failed. */
  backoffMs: (attempt: number) => number;
};

/** SQL that changes a handler's tables: one text for both databases, or one for each. */
export type Migration = string | { sqlite: string; postgres: string };

/** A claimed job. Stores may add fields of their own. */
export type Job = {
  /** The name of its handler. */
  handler: string;
  /** The id of its event. */
  id: string;
  type: string;
  /** The envelope as text. */
  body: string;
  /** From 1; the claim counts it. */
  attempt: number;
  receivedAtMs: number;
  /** When the event was stored or the job last requeued: MAX_AGE_HOURS counts from here. */
  waitingSinceMs: number;
};

/** How an attempt ended. Delays are whole milliseconds, at most 20 days. */
export type Ending =
  | { kind: "done" }
  /** `crashed`: its process ended during the attempt. */
  | { kind: "failed"; error: string; delayMs: number; crashed?: true }
  /** Deferred by its handler: the attempt does not count. */
  | { kind: "later"; error: string; delayMs: number }
  /** `reports`: claims after its last attempt, which only reported its death. They do not count. */
  | { kind: "dead"; error: string; reports?: number }
  /** Returned by a stopping worker: the attempt does not count, and the job is due at once. */
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
   * Makes this process the worker. Waits until no other worker can run (SQLite), runs the handlers' migrations and announces
   * the handlers. Makes the missing jobs of events that were stored before any announcement or while no worker ran. Ends
   * unfinished jobs of removed handlers as `ignored`, and attempts of dead workers as failed or dead, by the handler's
   * policy. Rejects with the signal's reason if it is aborted meanwhile.
   */
  begin: (handlers: readonly JobHandler[], signal: AbortSignal) => Promise<void>;
  /** Claims up to `limit` due jobs of a handler, the longest due first. */
  claim: (handler: string, limit: number) => Promise<Job[]>;
  /**
   * Ends the attempt. Returns false and changes nothing if the job no longer belongs to this attempt: its `atomically`
   * completed it, or (PostgreSQL) another worker has it.
   */
  end: (job: Job, ending: Ending) => Promise<boolean>;
  /**
   * Runs `work` in a transaction that also makes the job `done`: both are committed, or neither. Rejects with `JobLost` if
   * the job no longer belongs to this attempt, and with the reason of `signal` if it is aborted before the commit. Statements
   * that begin or end a transaction are refused. On SQLite `work` must end within one turn of the event loop.
   */
  atomically: <Result>(
    job: Job,
    work: (db: HandlerDatabase) => Promise<Result>,
    signal: AbortSignal,
  ) => Promise<Result>;
  /** The recorded result of a step, as JSON; kept across attempts and requeues until the job is done. */
  findStep: (job: Job, name: string) => Promise<string | undefined>;
  /** Rejects with `JobLost` if the job no longer belongs to this attempt. */
  recordStep: (job: Job, name: string, json: string) => Promise<void>;
  /** Runs one statement in its own transaction, by the rules of `atomically`: to read what handlers have written. */
  query: HandlerDatabase["query"];
  /** Calls back when another process may have made jobs due. Only shortens the wait. Returns how to unsubscribe. */
  onArrival?: (callback: () => void) => () => void;
};

export type Store = {
  intake: Intake;
  jobs: Jobs;
  ledger: Ledger;
  /** The database's clock. */
  nowMs: () => Promise<number>;
  /** Also ends the role of the worker. */
  close: () => Promise<void>;
};

/** The job no longer belongs to this attempt. Nothing was written. */
export class JobLost extends Error {
  override readonly name = "JobLost";

  constructor({ handler, id }: Pick<Job, "handler" | "id">) {
    super(`The job of ${handler} for ${id} is no longer this attempt's. Nothing was written.`);
  }
}
