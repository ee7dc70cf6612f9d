import { LEASE_MS, type EventSource } from "../../../engine.ts";
import { openReader } from "../../sqlite/database.ts";
import { HANDLERS_PER_EVENT } from "../../sqlite/handlers.ts";
import { idOf, MOVED_TO, openInboxFile } from "../../sqlite/inbox-file.ts";
import { workFileOf } from "../../sqlite/work-file.ts";

const FIND_IDENTITY = `SELECT pair, pruned_before_ms AS prunedBeforeMs FROM identity`;
const LIST_SEQS = `SELECT seq FROM events WHERE seq > ? ORDER BY seq LIMIT ?`;
const FIND_EVENT = `
  SELECT key, type, object_id AS objectId, source, received_at_ms AS receivedAtMs, duplicates, handled, body, trace
  FROM events WHERE seq = ?`;
const LIST_JOBS = `
  SELECT job, name AS handler, state, attempts, handled, due_at_ms AS dueAtMs, deferred, finished_at_ms AS finishedAtMs,
    last_error AS lastError, requeued_at_ms AS requeuedAtMs
  FROM jobs LEFT JOIN handlers ON number = handler WHERE job BETWEEN ? AND ?`;
const LIST_STEPS = `SELECT name, result FROM steps WHERE job = ?`;
const LIST_ALIASES = `
  SELECT aliases.key, events.key AS of, aliases.received_at_ms AS receivedAtMs FROM aliases JOIN events USING (seq)`;
const LIST_BOOKMARKS = `SELECT name, value FROM bookmarks WHERE name <> '${MOVED_TO}'`;
const LIST_REQUEUED = `
  SELECT DISTINCT job / ${String(HANDLERS_PER_EVENT)} AS seq FROM jobs
  WHERE requeued_at_ms IS NOT NULL AND seq > ? ORDER BY seq LIMIT ?`;
const LIST_WORKERS = `SELECT id FROM workers WHERE lease_until_ms > ? AND lease_until_ms <= ?`;
const SET_MOVED_TO = `
  INSERT INTO bookmarks VALUES ('${MOVED_TO}', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/** How long the mark may wait for an acknowledgement's commit. */
const BUSY_TIMEOUT_MS = 5_000;

/** States that only an operator changes any more. */
const FINISHED = ["done", "dead", "ignored"];

type EventRow = {
  key: Buffer;
  /** Empty once the event is pruned, unless reconcile made it. */
  type: string;
  objectId: string | null;
  source: EventSource;
  receivedAtMs: number;
  duplicates: number;
  handled: number | null;
  body: Buffer | null;
  /** JSON. */
  trace: string | null;
};

/** An event with all that is known of it. */
export type MovedEvent = Omit<EventRow, "key" | "handled"> & {
  id: string;
  /** How often it was handled. */
  handled: number;
  jobs: MovedJob[];
};

export type MovedJob = {
  job: number;
  /** Null: whoever wants the event, since nobody has looked at it; or what was done before handlers had names. */
  handler: string | null;
  /** In SQLite's words. */
  state: string;
  attempts: number;
  handled: number;
  dueAtMs: number | null;
  deferred: number;
  finishedAtMs: number | null;
  lastError: string | null;
  requeuedAtMs: number | null;
  steps: { name: string; result: string }[];
};

/** Events in the order of their arrival. `mark` is the place of the last of them, where the next run goes on. */
export type Page = { events: MovedEvent[]; mark?: number | undefined };

/** A second id of an event, under which the service brought what reconcile had enqueued. */
export type MovedAlias = { id: string; of: string; receivedAtMs: number };

export type LeavingInbox = ReturnType<typeof openLeaving>;

/** Reads what another engine takes over from the inbox `file`, beside the receiver that uses it. Throws where there is none. */
export function openLeaving(file: string) {
  const inbox = openReader(file);
  const db = openReader(workFileOf(file));
  const findIdentity = inbox.prepare<[], { pair: string; prunedBeforeMs: number }>(FIND_IDENTITY);
  const listSeqs = inbox.prepare<[number, number], number>(LIST_SEQS).pluck();
  const listRequeued = db.prepare<[number, number], number>(LIST_REQUEUED).pluck();
  const findEvent = inbox.prepare<[number], EventRow>(FIND_EVENT);
  const listJobs = db.prepare<[number, number], Omit<MovedJob, "steps">>(LIST_JOBS);
  const listSteps = db.prepare<[number], MovedJob["steps"][number]>(LIST_STEPS);

  return {
    /** Which inbox it is, among all there are. */
    identity: findIdentity.get()?.pair ?? "",
    prunedBeforeMs: (): number => findIdentity.get()?.prunedBeforeMs ?? 0,
    /**
     * What has arrived after the mark; then, without a mark, what an operator wanted handled once more, since it may have
     * moved before. Leaves out what is being deleted.
     */
    pages: function* (mark: number, limit: number): Generator<Page> {
      for (const seqs of pagesOf(listSeqs, mark, limit))
        yield { events: seqs.flatMap(read), mark: seqs.at(-1) };
      for (const seqs of pagesOf(listRequeued, 0, limit)) yield { events: seqs.flatMap(read) };
    },
    aliases: (): MovedAlias[] =>
      inbox
        .prepare<[], { key: Buffer; of: Buffer; receivedAtMs: number }>(LIST_ALIASES)
        .all()
        .map(({ key, of, receivedAtMs }) => ({ id: idOf(key), of: idOf(of), receivedAtMs })),
    bookmarks: (): { name: string; value: string }[] =>
      inbox.prepare<[], { name: string; value: string }>(LIST_BOOKMARKS).all(),
    /** Those whose lease runs; one that ends further ahead than a lease lasts was written before the clock was turned back. */
    workers: (nowMs: number): string[] =>
      db
        .prepare<[number, number], string>(LIST_WORKERS)
        .pluck()
        .all(nowMs, nowMs + LEASE_MS),
    /** From then on no receiver starts on these files. */
    leave: (to: string): void => {
      const writer = openInboxFile({ file, busyTimeoutMs: BUSY_TIMEOUT_MS });
      try {
        writer.prepare<[string]>(SET_MOVED_TO).run(to);
      } finally {
        writer.close();
      }
    },
    close: (): void => {
      inbox.close();
      db.close();
    },
  };

  function read(seq: number): MovedEvent[] {
    // Jobs first: retention forgets the body and then deletes the jobs; a body without jobs would look like a new event.
    const first = seq * HANDLERS_PER_EVENT;
    const rows = listJobs.all(first, first + HANDLERS_PER_EVENT - 1);
    const event = findEvent.get(seq);
    if (!event) return [];
    const { key, ...known } = event;
    const jobs = rows.map((row) => ({ ...row, steps: row.state === "done" ? [] : listSteps.all(row.job) }));
    const body = rows.some(({ state }) => state === "pruned") ? null : event.body;
    const handled = event.handled ?? Math.max(0, ...rows.map((row) => row.handled));
    return [{ ...known, id: idOf(key), body, handled, jobs }];
  }
}

/** Whether nothing will change of an event any more, but by an operator. One without jobs is new. */
export function isFinished({ jobs, body }: MovedEvent): boolean {
  return body === null || (jobs.length > 0 && jobs.every(({ state }) => FINISHED.includes(state)));
}

function* pagesOf(
  list: { all: (after: number, limit: number) => number[] },
  mark: number,
  limit: number,
): Generator<number[]> {
  for (let after: number | undefined = mark; after !== undefined;) {
    const seqs = list.all(after, limit);
    if (seqs.length > 0) yield seqs;
    after = seqs.at(-1);
  }
}
