/**
 * The port between the receiver and its database. An engine keeps events and drives the handlers; what it promises is
 * written here and proved by one suite of tests that every engine runs.
 *
 *                 accept
 *                   │
 *                   ▼       claim: attempt + 1, new fencing token, lease
 *    ┌─────────▶ pending ────────────────────────────────▶ claimed
 *    │              ▲                                         │
 *    │              ├── failed: due again after the backoff ──┤
 *    │              ├── lease ran out: the worker is gone ────┤
 *    │              └── returned: the worker is shutting down ┤
 *    │                                                        ├──▶ done      handled, its writes committed with it
 *    │                                                        ├──▶ ignored   nobody handles this type (yet)
 *    │                                                        └──▶ dead      failed for good, or once too often
 *    └── requeue ◀── dead, ignored
 *
 *    done, ignored ──(prune, after the retention of bodies)──▶ pruned: only the id is left, to recognise a duplicate
 */

/** States of an event, in the words of the diagram above. */
export const EVENT_STATES = ["pending", "claimed", "done", "ignored", "dead", "pruned"] as const;

export type EventState = (typeof EVENT_STATES)[number];

/** How an event came here: brought by the service, or found missing by `reconcile`. */
export type EventSource = "webhook" | "reconcile";

/** An event that was verified and parsed, not stored yet. */
export type NewEvent = {
  id: string;
  type: string;
  /** `data.object.id`, when there is one. */
  objectId: string | null;
  /** Events that share it are never handled at the same time; null shares nothing. */
  orderingKey: string | null;
  source: EventSource;
  receivedAtMs: number;
  /** The envelope, byte for byte as received. */
  body: Uint8Array;
};

/** Whether an event was new. When a duplicate carries another body than the first did, both hashes say so. */
export type Acceptance = {
  duplicate: boolean;
  differs?: { storedSha256: string; receivedSha256: string };
};

/** Why the database took nothing. All of them pass without a restart, except that a corrupt file needs a backup. */
export type Unavailable =
  | "busy"
  | "full"
  | "read_only"
  | "io_error"
  | "corrupt"
  | "overloaded"
  | "timeout"
  | "closed";

export type AcceptResult =
  | { ok: true; acceptances: Acceptance[] }
  | { ok: false; reason: Unavailable; detail: string };

/** An event as it stands in the inbox. After pruning only `id`, `state`, `handled` and `receivedAtMs` (a day) are known. */
export type InboxEvent = {
  seq: number;
  id: string;
  type: string | null;
  state: EventState;
  source: EventSource | null;
  attempts: number;
  /** Handlings that were completed: 1 for good, unless somebody requeued the event. */
  handled: number;
  /** Deliveries beyond the first. */
  duplicates: number;
  receivedAtMs: number;
  finishedAtMs: number | null;
  nextAttemptAtMs: number | null;
  lastError: string | null;
};

/** Runs one SQL statement with `$1`, `$2`, … as placeholders and answers its rows. */
export type HandlerDatabase = {
  query: (sql: string, parameters?: readonly SqlValue[]) => Promise<Record<string, unknown>[]>;
};

export type SqlValue = string | number | bigint | null | Uint8Array;

/**
 * Runs `work` in one transaction that also marks the event done. Both commit or neither does, and never for a worker
 * that lost its lease: then it throws `LeaseLost`. Nothing that the handler does afterwards can fail the event.
 */
export type Atomically = <Result>(work: (db: HandlerDatabase) => Promise<Result>) => Promise<Result>;

/** An event in the hands of a worker. */
export type Claim = {
  id: string;
  type: string;
  body: Uint8Array;
  /** Counted from 1, and counted when claimed: an event that kills its worker runs out of attempts too. */
  attempt: number;
  receivedAtMs: number;
  /** `signal` is the attempt's: once it is aborted, the transaction is refused or rolled back. */
  atomically: (signal: AbortSignal) => Atomically;
};

/** How one attempt ended. */
export type Outcome =
  | { kind: "done" }
  | { kind: "ignored" }
  | { kind: "failed"; error: string; retryAfterSeconds?: number }
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

export type ProcessOptions = {
  handle: (claim: Claim) => Promise<Outcome>;
  concurrency: number;
  maximumAttempts: number;
  /** Milliseconds until the next attempt after attempt `attempt` failed. */
  backoffMs: (attempt: number) => number;
  onHandled: (handled: Handled) => void;
  /** The loop could not reach its database; it goes on trying. */
  onTrouble: (error: unknown) => void;
};

/** A running background loop. */
export type Processor = {
  /** Looks for work now instead of at the next poll. */
  wake: () => void;
  /** Claims nothing more, waits up to `graceMs` for what is running, and returns the rest to the inbox. */
  drain: (graceMs: number) => Promise<void>;
};

export type EventFilter = { state?: EventState; type?: string };

export type Counts = {
  byState: Record<Exclude<EventState, "pruned">, number>;
  /** When the oldest event that is neither done, ignored nor dead was received. */
  oldestUnfinishedAtMs: number | null;
};

export type Engine = {
  /**
   * Stores what is new and recognises what is not: one row per event id, under any concurrency and any number of
   * processes. When it answers `ok`, every event of the batch is on disk, synced; otherwise none is.
   */
  accept: (batch: readonly NewEvent[]) => Promise<AcceptResult>;
  /** Starts the background loop: every pending event that is due is claimed and handed to `handle`. */
  process: (options: ProcessOptions) => Processor;
  /** Puts what the worker `workerId`, known to be dead, had claimed back into the inbox, without waiting for its lease. */
  release: (
    workerId: string,
    options: { maximumAttempts: number; backoffMs: (attempt: number) => number },
  ) => Promise<number>;
  find: (id: string) => Promise<InboxEvent | undefined>;
  /** The envelope of an event as it was received; undefined once it is pruned. */
  body: (seq: number) => Promise<Uint8Array | undefined>;
  /** Newest first; the next page begins below the `seq` of the last one. */
  list: (filter: EventFilter, page: { limit: number; beforeSeq?: number }) => Promise<InboxEvent[]>;
  /** Makes dead or ignored events pending again, with all their attempts before them. Answers how many. */
  requeue: (ids: readonly string[]) => Promise<number>;
  /**
   * Forgets the bodies of finished events received before `bodiesBeforeMs` and the ids received before `idsBeforeMs`,
   * in small batches that let acknowledgements through. Unfinished and dead events are kept, however old.
   */
  prune: (options: {
    bodiesBeforeMs: number;
    idsBeforeMs: number;
  }) => Promise<{ bodies: number; ids: number }>;
  counts: () => Promise<Counts>;
  /** Which of `objectIds` an event of `type` is known for; what `reconcile` asks before it enqueues anything. */
  known: (type: string, objectIds: readonly string[]) => Promise<Set<string>>;
  /** A named place to continue from, kept with the inbox. */
  bookmarks: {
    get: (name: string) => Promise<string | undefined>;
    set: (name: string, value: string | undefined) => Promise<void>;
  };
  /** Whether the database takes writes right now. */
  probe: () => Promise<{ ok: true } | { ok: false; reason: Unavailable; detail: string }>;
  /** Looks for damage; answers one line a finding, none when all is well. */
  check: () => Promise<string[]>;
  /** Copies the database while it is in use. Answers the files written. */
  backup: (directory: string) => Promise<string[]>;
  close: () => Promise<void>;
};

/** The lease of an attempt ran out and somebody else has the event, or had it. Nothing was written. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";

  constructor(id: string) {
    super(`The lease on ${id} ran out; another worker has it now. Nothing was written.`);
  }
}
