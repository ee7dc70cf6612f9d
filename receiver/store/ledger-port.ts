/** States of a job, in the words of the diagram in port.ts. */
export const JOB_STATES = ["waiting", "running", "done", "dead", "ignored"] as const;
export type JobState = (typeof JOB_STATES)[number];

/** States of an event: the most urgent state of its jobs, or `pruned`. */
export const EVENT_STATES = [...JOB_STATES, "pruned"] as const;
export type EventState = (typeof EVENT_STATES)[number];

/** One failed attempt of a job. */
export type JobError = { attempt: number; atMs: number; error: string };

/** One job of an event, as operators see it. */
export type InboxJob = {
  handler: string;
  state: JobState;
  attempts: number;
  /** How often it was completed; a requeue does not reset it. */
  handled: number;
  /** It waits behind an earlier job with its key. */
  held: boolean;
  /** Its handler deferred it until `nextAttemptAtMs`, or its process died and it waits for the handler's backoff. */
  deferred: boolean;
  nextAttemptAtMs: number | null;
  finishedAtMs: number | null;
  lastError: string | null;
  /** The last five, newest first. */
  errors: JobError[];
};

/** An event in the inbox. After pruning, only `seq`, `id`, `state`, `handled` and `receivedAtMs` are known. */
export type InboxEvent = {
  seq: number;
  id: string;
  type: string | null;
  objectId: string | null;
  source: "webhook" | "reconcile" | null;
  /** Dead if one of its jobs is dead; otherwise running, waiting, done or ignored by the same rule. */
  state: EventState;
  /** The most that any of its jobs has had. */
  attempts: number;
  /** 0 until all its jobs are done or ignored; then the most often that any of them was completed. */
  handled: number;
  /** Deliveries beyond the first. */
  duplicates: number;
  receivedAtMs: number;
  finishedAtMs: number | null;
  /** The earliest of its jobs. */
  nextAttemptAtMs: number | null;
  /** The latest time that a deferred job waits for. */
  deferredUntilMs: number | null;
  lastError: string | null;
  /** Sorted by handler. */
  jobs: InboxJob[];
};

/** Selects events with a job in this state, of this handler and with this cause; one job must match all of them. */
export type EventFilter = {
  state?: EventState | undefined;
  type?: string | undefined;
  handler?: string | undefined;
  /** For dead jobs: `causeOfError` of their last error. */
  cause?: string | undefined;
};

export type Page = { limit: number; beforeSeq?: number | undefined } | { limit: number; afterSeq: number };

/** Numbers of jobs. */
export type HandlerCounts = {
  handler: string;
  waiting: number;
  running: number;
  /** Waiting jobs with a failed attempt. */
  failing: number;
  dead: number;
  ignored: number;
  /** When the oldest unfinished event was received. */
  oldestUnfinishedAtMs: number | null;
};

export type Counts = {
  /** All known events, including pruned ones. */
  events: number;
  /** Events that no handler wanted. */
  unwanted: number;
  /** By name: every announced handler, and others that have jobs in these states. */
  handlers: HandlerCounts[];
  /** Dead jobs by handler and cause, most frequent first. */
  causes: { handler: string; cause: string; dead: number }[];
};

/** What operators see and do. No call blocks the event loop for more than 50 ms but `check` and `backup`, which only commands make. */
export type Ledger = {
  find: (id: string) => Promise<InboxEvent | undefined>;
  /** The envelope as it was received; undefined once it is pruned. */
  body: (seq: number) => Promise<Uint8Array | undefined>;
  /** Newest first, from below `beforeSeq`; or oldest first, from above `afterSeq`. */
  list: (filter: EventFilter, page: Page) => Promise<InboxEvent[]>;
  counts: () => Promise<Counts>;
  /** Handlers as the worker last announced them. */
  handlers: () => Promise<{ name: string; types: readonly string[] | "*" }[]>;
  /**
   * Makes dead and ignored jobs of these events wait again (with `"done"`, the done ones), due at once and with all attempts
   * left. With `handler`, only that handler's jobs; it also gets jobs for events that it wants and never had. An event that
   * no handler wanted is offered to all handlers again. Returns how many events changed.
   */
  requeue: (ids: readonly string[], handler?: string, state?: "done") => Promise<number>;
  /** Ends waiting and dead jobs of these events as `ignored`, with the reason. Returns how many events changed. */
  discard: (
    ids: readonly string[],
    options: { handler?: string | undefined; reason: string },
  ) => Promise<number>;
  /** Prunes bodies of finished events and ids received before these times, 200 rows a transaction. */
  prune: (before: { bodiesMs: number; idsMs: number }) => Promise<{ bodies: number; ids: number }>;
  /** Everything received before this time may be pruned; 0 if nothing was. */
  prunedBeforeMs: () => Promise<number>;
  /** Which of `objectIds` have an event of `type`. */
  known: (type: string, objectIds: readonly string[]) => Promise<Set<string>>;
  /** A named value kept with the inbox, such as where `reconcile` continues. */
  bookmark: (name: string) => Promise<string | undefined>;
  setBookmark: (name: string, value: string | undefined) => Promise<void>;
  /** Looks for damage. Returns one line per finding. */
  check: () => Promise<string[]>;
  /** Copies the database to a new file while it is in use; undefined if the database has its own backup tools. */
  backup?: (file: string) => Promise<void>;
};
