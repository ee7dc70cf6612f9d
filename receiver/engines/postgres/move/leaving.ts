import { LEASE_MS, type EventSource } from "../../../engine.ts";
import type { MovedAlias, MovedEvent, MovedJob } from "./moved-event.ts";
import { openReader } from "../../sqlite/database.ts";
import { HANDLERS_PER_EVENT } from "../../sqlite/handlers.ts";
import { idOf, MOVED_TO, openInboxFile } from "../../sqlite/inbox-file.ts";
import { workFileOf } from "../../sqlite/work-file.ts";

const FIND_IDENTITY = `SELECT pair, pruned_before_ms AS prunedBeforeMs FROM identity`;
const LIST_SEQS = `SELECT seq FROM events WHERE seq > ? ORDER BY seq LIMIT ?`;
const FIND_EVENT = `
  SELECT key, type, object_id, source, received_at_ms, duplicates, handled, body, trace FROM events WHERE seq = ?`;
const LIST_JOBS = `
  SELECT job, name, state, attempts, handled, due_at_ms AS dueAtMs, deferred, finished_at_ms AS finishedAtMs,
    last_error AS lastError, requeued_at_ms AS requeuedAtMs
  FROM jobs LEFT JOIN handlers ON number = handler WHERE job BETWEEN ? AND ?`;
const LIST_STEPS = `SELECT name, result FROM steps WHERE job = ?`;
const LIST_ALIASES = `
  SELECT aliases.key, events.key AS of, aliases.received_at_ms FROM aliases JOIN events USING (seq)`;
const LIST_BOOKMARKS = `SELECT name, value FROM bookmarks WHERE name <> '${MOVED_TO}'`;
const LIST_REQUEUED = `SELECT DISTINCT job / ${String(HANDLERS_PER_EVENT)} FROM jobs WHERE requeued_at_ms IS NOT NULL`;
const LIST_WORKERS = `SELECT id FROM workers WHERE lease_until_ms > ? AND lease_until_ms <= ?`;
const SET_MOVED_TO = `
  INSERT INTO bookmarks VALUES ('${MOVED_TO}', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/** How long the mark may wait for an acknowledgement's commit. */
const BUSY_TIMEOUT_MS = 5_000;

type EventRow = {
  key: Buffer;
  type: string;
  object_id: string | null;
  source: EventSource;
  received_at_ms: number;
  duplicates: number;
  handled: number | null;
  body: Buffer | null;
  trace: string | null;
};

type JobRow = Pick<
  MovedJob,
  "attempts" | "handled" | "dueAtMs" | "finishedAtMs" | "lastError" | "requeuedAtMs"
> & {
  job: number;
  name: string | null;
  state: string;
  deferred: number;
};

export type LeavingInbox = ReturnType<typeof openLeaving>;

/** Reads what another engine takes over from the inbox `file`, beside the receiver that uses it. Throws where there is none. */
export function openLeaving(file: string) {
  const inbox = openReader(file);
  const db = openReader(workFileOf(file));
  const findIdentity = inbox.prepare<[], { pair: string; prunedBeforeMs: number }>(FIND_IDENTITY);
  const listSeqs = inbox.prepare<[number, number], number>(LIST_SEQS).pluck();
  const findEvent = inbox.prepare<[number], EventRow>(FIND_EVENT);
  const listJobs = db.prepare<[number, number], JobRow>(LIST_JOBS);
  const listSteps = db.prepare<[number], MovedJob["steps"][number]>(LIST_STEPS);

  return {
    /** Which inbox it is, among all there are. */
    identity: findIdentity.get()?.pair ?? "",
    prunedBeforeMs: (): number => findIdentity.get()?.prunedBeforeMs ?? 0,
    /** The next events in the order of their arrival, without those that are being forgotten, a page after the other. */
    pages: function* (afterSeq: number, limit: number): Generator<{ events: MovedEvent[]; lastSeq: number }> {
      for (let after = afterSeq; ;) {
        const seqs = listSeqs.all(after, limit);
        const lastSeq = seqs.at(-1);
        if (lastSeq === undefined) return;
        yield { events: seqs.flatMap(read), lastSeq };
        after = lastSeq;
      }
    },
    /** What an operator wanted handled once more, since it was handled or given up. */
    requeued: (): MovedEvent[] => db.prepare<[], number>(LIST_REQUEUED).pluck().all().flatMap(read),
    aliases: (): MovedAlias[] =>
      inbox
        .prepare<[], { key: Buffer; of: Buffer; received_at_ms: number }>(LIST_ALIASES)
        .all()
        .map((row) => ({ id: idOf(row.key), of: idOf(row.of), receivedAtMs: row.received_at_ms })),
    bookmarks: (): { name: string; value: string }[] =>
      inbox.prepare<[], { name: string; value: string }>(LIST_BOOKMARKS).all(),
    /** Those whose lease runs; one that ends further ahead than any is of a clock that was turned back. */
    workers: (nowMs: number): string[] =>
      db
        .prepare<[number, number], string>(LIST_WORKERS)
        .pluck()
        .all(nowMs, nowMs + LEASE_MS),
    /** From here on no receiver starts on these files. */
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
    // In this order: retention deletes the jobs only once the body is forgotten, and without either an event is new.
    const first = seq * HANDLERS_PER_EVENT;
    const rows = listJobs.all(first, first + HANDLERS_PER_EVENT - 1);
    const event = findEvent.get(seq);
    if (!event) return [];
    const { key, type, object_id: objectId, source, received_at_ms: receivedAtMs, duplicates, trace } = event;
    const body = rows.some(({ state }) => state === "pruned") ? null : event.body;
    const jobs = rows.map(jobOf);
    const handled = event.handled ?? Math.max(0, ...rows.map(({ handled: times }) => times));
    return [
      { seq, id: idOf(key), type, objectId, source, receivedAtMs, duplicates, trace, body, handled, jobs },
    ];
  }

  function jobOf({ job, name: handler, state, deferred, ...row }: JobRow): MovedJob {
    const isFinished = state === "done" || state === "dead" || state === "ignored";
    const isClaimed = state === "claimed" ? ("claimed" as const) : ("pending" as const);
    return {
      ...row,
      handler,
      state: isFinished ? state : isClaimed,
      deferred: deferred === 1,
      suspect: state === "suspect",
      steps: state === "done" ? [] : listSteps.all(job),
    };
  }
}
