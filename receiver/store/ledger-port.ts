/** States of a job, in the words of the diagram in port.ts. */
export const JOB_STATES = ["waiting", "running", "done", "dead", "ignored"] as const;
export type JobState = (typeof JOB_STATES)[number];

/** States of an event: what is most urgent of its jobs, or `pruned`. */
export const EVENT_STATES = [...JOB_STATES, "pruned"] as const;
export type EventState = (typeof EVENT_STATES)[number];

/** One failed attempt of a job. */
export type JobError = { attempt: number; atMs: number; error: string };

/** One job of an event, as operators see it. */
export type InboxJob = {
  handler: string;
  state: JobState;
  attempts: number;
  /** Completions: 1 for good once it is done. */
  handled: number;
  /** Waits behind an earlier job of its key. */
  held: boolean;
  /** Put off by its handler until `nextAttemptAtMs`, which is no failure. */
  deferred: boolean;
  nextAttemptAtMs: number | null;
  finishedAtMs: number | null;
  lastError: string | null;
  /** The last five, newest first. */
  errors: JobError[];
};

/** An event as it is in the inbox. After pruning only `seq`, `id`, `state`, `handled` and `receivedAtMs` are known. */
export type InboxEvent = {
  seq: number;
  id: string;
  type: string | null;
  objectId: string | null;
  source: "webhook" | "reconcile" | null;
  /** Dead if one of its jobs is dead, else running, waiting, done or ignored by the same rule. */
  state: EventState;
  /** Those of the job with the most. */
  attempts: number;
  /** 0 until all its jobs are done or ignored; then the largest number of completions of a job. */
  handled: number;
  /** Deliveries beyond the first. */
  duplicates: number;
  receivedAtMs: number;
  finishedAtMs: number | null;
  /** The soonest of its jobs. */
  nextAttemptAtMs: number | null;
  /** The latest moment that a handler has put a job off to. */
  deferredUntilMs: number | null;
  lastError: string | null;
  /** By the handlers' names. */
  jobs: InboxJob[];
};

/** Events that have a job in this state, of this handler, with this cause of failure; all of it in one and the same job. */
export type EventFilter = {
  state?: EventState | undefined;
  type?: string | undefined;
  handler?: string | undefined;
  /** Of dead jobs: `causeOfError` of their last error. */
  cause?: string | undefined;
};

export type Page = { limit: number; beforeSeq?: number | undefined } | { limit: number; afterSeq: number };

/** Numbers of jobs. */
export type HandlerCounts = {
  handler: string;
  waiting: number;
  running: number;
  /** Of the waiting: those with a failed attempt. */
  failing: number;
  dead: number;
  ignored: number;
  /** When the oldest unfinished event was received. */
  oldestUnfinishedAtMs: number | null;
};

export type Counts = {
  /** Events that are known, pruned ones too. */
  events: number;
  /** Events that no handler wanted. */
  unwanted: number;
  /** By name; handlers that have jobs in these states, and all that are announced. */
  handlers: HandlerCounts[];
  /** Dead jobs by handler and cause, the most first. */
  causes: { handler: string; cause: string; dead: number }[];
};

/** What operators ask and do. Nothing of it holds up the event loop for more than 50 ms. */
export type Ledger = {
  find: (id: string) => Promise<InboxEvent | undefined>;
  /** The envelope as it was received; undefined once it is pruned. */
  body: (seq: number) => Promise<Uint8Array | undefined>;
  /** Newest first, the next page beginning below `beforeSeq`; or oldest first, beginning above `afterSeq`. */
  list: (filter: EventFilter, page: Page) => Promise<InboxEvent[]>;
  counts: () => Promise<Counts>;
  /** Handlers as the worker announced them last. */
  handlers: () => Promise<{ name: string; types: readonly string[] | "*" }[]>;
  /**
   * Makes dead and ignored jobs of these events (or, with `"done"`, those that are done) wait again, due at once, with all
   * their attempts before them. With `handler` only its own, and it gets a job of an event that it wants and had none of.
   * An event that no handler wanted is offered to all again. Returns how many events have changed; 1,000 ids at the most.
   */
  requeue: (ids: readonly string[], handler?: string, state?: "done") => Promise<number>;
  /** Ends waiting and dead jobs of these events as `ignored`, with the reason. Returns how many events have changed. */
  discard: (
    ids: readonly string[],
    options: { handler?: string | undefined; reason: string },
  ) => Promise<number>;
  /** Prunes bodies of finished events and ids received before these moments, 200 rows a transaction. */
  prune: (before: { bodiesMs: number; idsMs: number }) => Promise<{ bodies: number; ids: number }>;
  /** Everything received before this moment may be pruned; 0 if nothing was. */
  prunedBeforeMs: () => Promise<number>;
  /** Which of `objectIds` have an event of `type`. */
  known: (type: string, objectIds: readonly string[]) => Promise<Set<string>>;
  /** A named value that is kept with the inbox, such as where `reconcile` goes on. */
  bookmark: (name: string) => Promise<string | undefined>;
  setBookmark: (name: string, value: string | undefined) => Promise<void>;
  /** Looks for damage; one line a finding. */
  check: () => Promise<string[]>;
  /** Copies the database to a new file while it is in use; undefined if the database has tools of its own for that. */
  backup?: (file: string) => Promise<void>;
};
