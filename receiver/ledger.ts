import type { EventState, JobState } from "./engine.ts";

/** How an event came here: brought by the service, or found missing by `reconcile`. */
export type EventSource = "webhook" | "reconcile";

/** One job of an event, as operators see it. */
export type InboxJob = {
  handler: string;
  state: JobState;
  attempts: number;
  /** Completions: 1 for good once it is done. */
  handled: number;
  lastError: string | null;
  nextAttemptAtMs: number | null;
  /** Put off by its handler until `nextAttemptAtMs`, which is no failure. */
  deferred: boolean;
  finishedAtMs: number | null;
};

/** An event as it stands in the inbox. After pruning only `id`, `state`, `handled` and `receivedAtMs` are known. */
export type InboxEvent = {
  seq: number;
  id: string;
  type: string | null;
  state: EventState;
  source: EventSource | null;
  /** Those of the job with the most. */
  attempts: number;
  /** 0 until the event is `done`; then the largest number of completions of a job: 1, unless one was done twice. */
  handled: number;
  /** Deliveries beyond the first. */
  duplicates: number;
  receivedAtMs: number;
  finishedAtMs: number | null;
  /** The soonest of its jobs. */
  nextAttemptAtMs: number | null;
  /** Latest of the moments that handlers have put unfinished jobs off to; null when none did. */
  deferredUntilMs: number | null;
  /** That of a dead job, or else of the first job that has one. */
  lastError: string | null;
  /** By the handlers' names; empty where no worker has looked at the event yet, or no handler wanted it. */
  jobs: InboxJob[];
};

/** With `handler`, events that have a job of it, and `state` is that job's. */
export type EventFilter = {
  state?: EventState | undefined;
  type?: string | undefined;
  handler?: string | undefined;
};

export type Page = { limit: number; beforeSeq?: number | undefined } | { limit: number; afterSeq: number };

export type Counts = {
  byState: Record<Exclude<EventState, "pruned">, number>;
  /** Jobs by handler, of the states that somebody may have to look at. */
  byHandler: { handler: string; pending: number; claimed: number; dead: number; ignored: number }[];
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
  /**
   * Makes dead or ignored jobs of these events pending again, with all their attempts before them; with `handler` only
   * its own, and where it has none of an event that it wants (it is newer than the event) one is made. An ignored event
   * without jobs is offered to all handlers again. Answers how many events it has changed; 1,000 ids at most.
   */
  requeue: (ids: readonly string[], handler?: string) => Promise<number>;
  /** Names of the handlers that there are, as workers have announced them, with their types. */
  handlers: () => Promise<{ name: string; types: readonly string[] | "*" }[]>;
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
  /** Unix time: everything received before it may have been pruned. 0 when nothing was. */
  prunedBeforeMs: () => Promise<number>;
  /** A named place to continue from, kept with the inbox. */
  bookmark: (name: string) => Promise<string | undefined>;
  setBookmark: (name: string, value: string | undefined) => Promise<void>;
  /** Looks for damage; answers one line a finding, none when all is well. */
  check?: () => Promise<string[]>;
  /** Copies the database while it is in use into a directory. Answers the files written. */
  backup?: (directory: string) => Promise<string[]>;
};
