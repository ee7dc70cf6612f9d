/**
 * The port between the receiver and its database. An engine keeps events and drives the handlers; what it promises is
 * written here and proved by one suite of tests that every engine runs.
 *
 *                 accept
 *                   │
 *                   ▼       claim: attempt + 1, new fencing token
 *    ┌─────────▶ pending ────────────────────────────────▶ claimed
 *    │              ▲                                         │
 *    │              ├── retry: failed, due after its backoff ─┤
 *    │              ├── expire, release: the worker is gone ──┤
 *    │              └── return: the worker is shutting down ──┤
 *    │                                                        ├──▶ done      handled, its writes committed with it
 *    │                                                        ├──▶ ignored   nobody handles this type (yet)
 *    │                                                        └──▶ dead      failed for good, or once too often
 *    └── requeue ◀── dead, ignored
 *
 *    done, ignored ──(prune, after the retention of bodies)──▶ pruned: only the id is left for a time, to recognise a duplicate
 */

/** States of an event, in the words of the diagram above. */
export const EVENT_STATES = ["pending", "claimed", "done", "ignored", "dead", "pruned"] as const;

export type EventState = (typeof EVENT_STATES)[number];

/** How long a worker may give no sign of life before its claims are given to others. */
export const LEASE_MS = 30_000;

/** How an event came here: brought by the service, or found missing by `reconcile`. */
export type EventSource = "webhook" | "reconcile";

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
};

/** Whether an event was new. When a duplicate carries another body than the first did, both hashes say so. */
export type Acceptance = {
  duplicate: boolean;
  differs?: { storedSha256: string; receivedSha256: string };
};

/**
 * Why the database took nothing. All of them pass without a restart, except that a corrupt file needs a backup. After
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

/** The way in. */
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
 * Runs `work` in a transaction that also marks the event done. Both commit or neither does, and never for a worker
 * that lost its claim: then it throws `LeaseLost`. Nothing that the handler does afterwards can fail the event.
 */
export type Atomically = <Result>(work: (db: HandlerDatabase) => Promise<Result>) => Promise<Result>;

/** An event in the hands of a worker. */
export type Claim = {
  id: string;
  type: string;
  /** The envelope, as the text that its bytes are in UTF-8. */
  body: string;
  /** Counted from 1, and counted when claimed: an event that kills its worker runs out of attempts too. */
  attempt: number;
  receivedAtMs: number;
  /** Aborted when the claim is over before its handler is: the lease was lost, or the grace of a drain has passed. */
  signal: AbortSignal;
  /** `signal` is the attempt's: once it is aborted, the transaction is refused or rolled back. */
  atomically: (signal: AbortSignal) => Atomically;
};

/** How one attempt ended. */
export type Outcome =
  | { kind: "done" }
  | { kind: "ignored" }
  | { kind: "failed"; error: string; retryAfterMs?: number }
  | { kind: "dead"; error: string };

/** What `process` reports, once an attempt has ended and its outcome is stored. */
export type Handled = {
  id: string;
  type: string;
  attempt: number;
  outcome: "done" | "ignored" | "failed" | "dead" | "lost";
  durationMs: number;
  error?: string;
};

/** When a failed event is tried again, and when no more. */
export type RetryPolicy = {
  maximumAttempts: number;
  /** Whole milliseconds until the next attempt after attempt `attempt` failed. */
  backoffMs: (attempt: number) => number;
};

/** SQL that changes a handler's tables: the same for both engines, or one text for each. */
export type Migration = string | { sqlite: string; postgres: string };

/** The migrations of each handler, by its name. Lists are only ever appended to: how many have run is remembered. */
export type HandlerMigrations = readonly { handler: string; migrations: readonly Migration[] }[];

export type ProcessOptions = {
  /** Never throws. */
  handle: (claim: Claim) => Promise<Outcome>;
  /** Unique among all workers there ever were; `release` names it once it is dead. */
  workerId: string;
  /** Whether a worker is certainly gone, so that its claims are free before its lease is over. */
  isGone?: (workerId: string) => boolean;
  concurrency: number;
  onHandled: (handled: Handled) => void;
  /** The loop could not reach its database; it goes on trying. */
  onTrouble: (error: unknown) => void;
};

/** A running background loop. */
export type Processor = {
  /**
   * Claims nothing more, waits up to `graceMs` for what is running, aborts the signal of what is left, and returns that
   * to the inbox, where the attempt doesn't count. Claims are kept alive until then.
   */
  drain: (graceMs: number) => Promise<void>;
};

/** The way through. */
export type Work = {
  /**
   * Starts the background loop: every pending event that is due is claimed and handed to `handle`. Retries and new
   * events take turns, so that neither a backlog nor failing events starve the other. An event whose worker vanished is
   * handled alone.
   */
  process: (options: ProcessOptions) => Processor;
  /** Takes back what the worker `workerId`, known to be dead, had claimed, without waiting for its lease. */
  release: (workerId: string) => Promise<number>;
};

/** An event as it stands in the inbox. After pruning only `id`, `state`, `handled` and `receivedAtMs` are known. */
export type InboxEvent = {
  seq: number;
  id: string;
  type: string | null;
  state: EventState;
  source: EventSource | null;
  attempts: number;
  /** Handlings that were completed: 1 for good once it is done. */
  handled: number;
  /** Deliveries beyond the first. */
  duplicates: number;
  receivedAtMs: number;
  finishedAtMs: number | null;
  nextAttemptAtMs: number | null;
  lastError: string | null;
};

export type EventFilter = { state?: EventState | undefined; type?: string | undefined };

export type Page = { limit: number; beforeSeq?: number | undefined } | { limit: number; afterSeq: number };

export type Counts = {
  byState: Record<Exclude<EventState, "pruned">, number>;
  /** How long ago the oldest event was received that is neither done, ignored nor dead; null when there is none. */
  oldestUnfinishedAgeMs: number | null;
};

/** What operators ask and do. None of it runs on the thread that acknowledges. */
export type Ledger = {
  find: (id: string) => Promise<InboxEvent | undefined>;
  /** The envelope of an event as it was received; undefined once it is pruned. */
  body: (seq: number) => Promise<Uint8Array | undefined>;
  /** Newest first, the next page beginning below the `seq` of the last one; or oldest first, beginning above `afterSeq`. */
  list: (filter: EventFilter, page: Page) => Promise<InboxEvent[]>;
  /** Makes dead or ignored events pending again, with all their attempts before them. Answers how many; 1,000 ids at most. */
  requeue: (ids: readonly string[]) => Promise<number>;
  /**
   * Forgets the bodies of finished events and the ids that are older than this, in small batches that let
   * acknowledgements through. Unfinished and dead events are kept, however old.
   */
  prune: (older: {
    bodiesOlderThanMs: number;
    idsOlderThanMs: number;
  }) => Promise<{ bodies: number; ids: number }>;
  counts: () => Promise<Counts>;
  /** Which of `objectIds` an event of `type` is known for, if they were made after `prunedBeforeMs`; `reconcile` asks. */
  known: (type: string, objectIds: readonly string[]) => Promise<Set<string>>;
  /** Of Unix time: everything received before may have been pruned. 0 when nothing was. */
  prunedBeforeMs: () => Promise<number>;
  /** A named place to continue from, kept with the inbox. */
  bookmark: (name: string) => Promise<string | undefined>;
  setBookmark: (name: string, value: string | undefined) => Promise<void>;
  /** Looks for damage; answers one line a finding, none when all is well. */
  check?: () => Promise<string[]>;
  /** Copies the database while it is in use into a directory. Answers the files written. */
  backup?: (directory: string) => Promise<string[]>;
};

export type Engine = {
  intake: Intake;
  work: Work;
  ledger: Ledger;
  /** What the database's clock says: many machines have many clocks. */
  nowMs: () => Promise<number>;
  close: () => Promise<void>;
};

/** The claim on an event was lost and somebody else has it, or had it. Nothing was written. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";

  constructor(id: string) {
    super(`The claim on ${id} was lost; another worker has it now. Nothing was written.`);
  }
}
