/**
 * The port between the receiver and its database. An engine stores events, keeps one job for each handler that wants an
 * event, and drives the handlers; what it promises is written here and proved by one suite of tests that every engine runs.
 *
 * Life cycle of a job (one event for one handler):
 *
 *                 accept, fan-out
 *                   │
 *                   ▼       claim: attempt + 1, new fencing token
 *    ┌─────────▶ pending ────────────────────────────────▶ claimed
 *    │              ▲                                         │
 *    │              ├── retry: failed, due after its backoff ─┤
 *    │              ├── later: put off by its handler, not counted
 *    │              ├── expire: its worker vanished ──────────┤
 *    │              └── return: worker shuts down, not counted┤
 *    │                                                        ├──▶ done      handled, its writes committed with it
 *    │                                                        ├──▶ ignored   its handler is gone
 *    │                                                        └──▶ dead      failed for good, or once too often
 *    └── requeue ◀── dead, ignored
 *
 * An event is `pending` until one of its jobs is claimed, `claimed` while one of them is, and otherwise `pending` while
 * one is unfinished; then `dead` if one is dead, `done` if one is done, and `ignored` when no handler wanted it or all
 * that did are gone. After the retention of bodies done and ignored events are `pruned`: only the id is left for a time,
 * to recognise a duplicate.
 *
 * Turns: retries that are due and new jobs share every claim half and half when both wait, and handlers take turns.
 * A *suspect* is a job whose worker vanished while it ran. Its next attempt runs alone, and after each suspect the
 * others have their turn first: so an unrelated job waits for one attempt of one suspect at the most. Any ordinary
 * ending (done, failed, later, dead) ends the suspicion. A crash while several jobs ran counts as an attempt of none of
 * them, since nobody knows which was the cause; a crash of a job that ran alone counts.
 */

import type { EventSource, Ledger } from "./ledger.ts";

export type * from "./ledger.ts";

/** States of an event, in the words above. */
export const EVENT_STATES = ["pending", "claimed", "done", "ignored", "dead", "pruned"] as const;
export type EventState = (typeof EVENT_STATES)[number];

/** States of a job, in the words of the diagram above. */
export type JobState = Exclude<EventState, "pruned">;

/** How long a worker may give no sign of life before its claims are given to others. */
export const LEASE_MS = 30_000;

/** An event that was verified and parsed, not stored yet. */
export type NewEvent = {
  /** `evt_` and 32 hexadecimal characters; upper and lower case are the same id. */
  id: string;
  type: string;
  /** `data.object.id`, when there is one. */
  objectId: string | null;
  source: EventSource;
  /** The envelope, byte for byte as received. */
  body: Uint8Array;
  /** What the request said of itself: kept with the event and handed to its handlers. */
  trace: Trace | null;
};

/** The W3C `traceparent` header of the request that brought an event, and the id that the app gave that request. */
export type Trace = { traceparent?: string | undefined; requestId?: string | undefined };

/** Whether an event was new. When a duplicate carries another body than the first did, both hashes say so. */
export type Acceptance = {
  duplicate: boolean;
  differs?: { storedSha256: string; receivedSha256: string };
};

/**
 * Why the database took nothing. All but `closed`, and `corrupt`, which needs a backup, pass without a restart. After
 * `timeout` and `outcome_unknown` the events may be stored all the same: the sender's retry is then a duplicate.
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

export type AcceptResult = { ok: true; acceptances: Acceptance[] } | Refusal;

/** Taking events. */
export type Intake = {
  /**
   * Stores what is new and recognises what is not: one row per event id, under any concurrency and any number of
   * processes. What `reconcile` enqueued and the service brings later is the same when type and object are. When it
   * answers `ok`, every event of the batch is on disk, synced; otherwise none is. Never throws for the database's sake.
   */
  accept: (batch: readonly NewEvent[]) => Promise<AcceptResult>;
  /** Whether the database takes writes right now. */
  probe: () => Promise<{ ok: true } | Refusal>;
};

/** One SQL statement with `$1`, `$2`, … as placeholders; answers its rows. */
export type HandlerDatabase = {
  query: (sql: string, parameters?: readonly SqlValue[]) => Promise<Record<string, unknown>[]>;
};

export type SqlValue = string | number | bigint | null | Uint8Array;

/**
 * Runs `work` in a transaction that also marks the job done. Both commit or neither does, and never for a worker
 * that lost its claim: then it throws `LeaseLost`. Nothing that the handler does afterwards can fail the job. A statement
 * that begins or ends a transaction (BEGIN, COMMIT, END, ROLLBACK, ABORT, SAVEPOINT, RELEASE …) is refused.
 */
export type Atomically = <Result>(work: (db: HandlerDatabase) => Promise<Result>) => Promise<Result>;

/** A claimed job. */
export type Claim = {
  /** Name of its handler. */
  handler: string;
  /** Id of its event. */
  id: string;
  type: string;
  /** The envelope, as the text that its bytes are in UTF-8. */
  body: string;
  trace: Trace | null;
  /** Counted from 1, and counted when claimed: a job that kills its worker runs out of attempts too. */
  attempt: number;
  /** When the event was stored, or this job was last requeued: what MAX_AGE_HOURS counts from. */
  waitingSinceMs: number;
  receivedAtMs: number;
  /** Aborted when the claim is over before its handler is: the lease was lost, or the grace of a drain has passed. */
  signal: AbortSignal;
  /** `signal` is the attempt's: once it is aborted, the transaction is refused or rolled back. */
  atomically: (signal: AbortSignal) => Atomically;
  /** Results of steps recorded by this job, as JSON texts; kept over attempts and requeues until the job is done. */
  steps: Steps;
};

export type Steps = {
  find: (name: string) => Promise<string | undefined>;
  /** Throws `LeaseLost` when the claim was lost; on disk as surely as `done` is when it resolves. */
  record: (name: string, json: string) => Promise<void>;
};

/** How one attempt ended. */
export type Outcome =
  | { kind: "done" }
  | { kind: "failed"; error: string }
  /** Not a failure: the attempt is not counted. */
  | { kind: "later"; reason: string; delayMs: number }
  | { kind: "dead"; error: string };

/** What `process` reports of an attempt, once its outcome is stored, or its claim was lost. */
export type Handled = {
  handler: string;
  id: string;
  type: string;
  attempt: number;
  outcome: "done" | "failed" | "later" | "dead" | "lost";
  durationMs: number;
  error?: string;
};

/** SQL that changes a handler's tables: the same for both engines, or one text for each. */
export type Migration = string | { sqlite: string; postgres: string };

/** What an engine knows of a handler. */
export type JobHandler = {
  /** Unique; the job's for good. */
  name: string;
  /** Types of the events that it wants; `*` for every type, unknown ones too. */
  types: readonly string[] | "*";
  /** Lists are only ever appended to: how many have run is remembered under the handler's name. */
  migrations: readonly Migration[];
  maximumAttempts: number;
  /** Whole milliseconds until the next attempt after attempt `attempt` (from 1) failed. */
  backoffMs: (attempt: number) => number;
  /** Jobs of this handler that run at one time in one worker process. */
  concurrency: number;
  /** At most `limit` attempts begin within any `perMs`, of all workers together. */
  rateLimit: { limit: number; perMs: number } | undefined;
  /**
   * Jobs of this handler with the same key never run side by side and go in the order in which their events were stored:
   * one that waits (for a retry, or put off) holds back those behind it, a dead one doesn't. Undefined: no order. May
   * throw: then the job is dead with that reason.
   */
  key: ((body: string) => string) | undefined;
};

export type ProcessOptions = {
  handlers: readonly JobHandler[];
  /** Never throws. */
  handle: (claim: Claim) => Promise<Outcome>;
  /** Unique among all workers there ever were. */
  workerId: string;
  /** Workers that are certainly gone, so that their claims are free before their lease is over. */
  predecessors?: readonly string[] | undefined;
  /** Jobs that run at one time in this process, of all handlers together. */
  concurrency: number;
  /** Claims this pending job and no other, also before it is due: for one attempt that an operator asks for. */
  only?: { handler: string; id: string } | undefined;
  onHandled: (handled: Handled) => void;
  /** The loop could not reach its database; it goes on trying. */
  onTrouble: (error: unknown) => void;
};

/** A running background loop. */
export type Processor = {
  /** New events were stored: look at once. Only shortens the wait. */
  wake: () => void;
  /**
   * Claims nothing more, waits up to `graceMs` for what is running, aborts the signal of what is left, and returns that
   * to the inbox, where the attempt doesn't count. Claims are kept alive until then. Jobs in `failed` are certain to have
   * failed though they still run (past their deadline, or an error that nobody caught was theirs): they are written down
   * as such, with what is returned, and the process ends.
   */
  drain: (graceMs: number, failed?: readonly FailedJob[]) => Promise<void>;
  /** One statement in a transaction of its own, by the rules of `atomically`: to look at what handlers have written. */
  query: HandlerDatabase["query"];
};

/** A job that has failed, though its handler may still run. */
export type FailedJob = { handler: string; id: string; error: string };

/** Handling events. */
export type Work = {
  /**
   * Runs the handlers' migrations, makes their names and types known to every process on this database, and ends as
   * `ignored` the unfinished jobs of handlers that are no longer there. Then starts the background loop.
   */
  process: (options: ProcessOptions) => Promise<Processor>;
};

export type Engine = {
  intake: Intake;
  work: Work;
  ledger: Ledger;
  /** What the database's clock says: many machines have many clocks. */
  nowMs: () => Promise<number>;
  close: () => Promise<void>;
};

/** The claim on a job was lost and somebody else has it, or had it. Nothing was written. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";

  constructor(id: string) {
    super(`The claim on ${id} was lost; another worker has it now. Nothing was written.`);
  }
}
