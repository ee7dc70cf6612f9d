import type Database from "better-sqlite3";

/** How long a claim holds without being extended. */
export const LEASE_MS = 30_000;

/** A due time or lease further ahead than anything we ever set means that the clock was turned back: it counts as come. */
const LONGEST_DUE_MS = 2 * 86_400_000;
const LONGEST_LEASE_MS = 2 * LEASE_MS;

/**
 * Due events looked at in one go, and how often in one round. With more than their product waiting for one and the same
 * object at the head of the queue, those behind wait too; without a bound, each look would cost as much as the queue is long.
 */
const DUE_LIMIT = 100;
const DUE_LOOKS = 10;

/** Events taken over from the inbox file in one transaction. */
const FOLLOW_LIMIT = 500;

export type ClaimedRow = { seq: number; attempts: number; token: number; crashes: number };

type DueRow = { seq: number; dueAtMs: number; crashes: number; orderingKey: string | null; taken: number };

/** The holder of a claim: only with the latest token may anything be written. */
export type Lease = { seq: number; token: number };

// INDEXED BY, because SQLite keeps no statistics here and would choose by the number of columns: on a long queue that
// is the difference between looking at a hundred rows and sorting all of them. A missing index is an error then.
const FIND_POSITION = `SELECT seq FROM position`;
const FIND_ARRIVED = `SELECT seq, type, ordering_key FROM events WHERE seq > ? ORDER BY seq LIMIT ${String(FOLLOW_LIMIT)}`;
const INSERT_WORK = `INSERT INTO work (seq, type, ordering_key) VALUES (?, ?, ?)`;
const MOVE_POSITION = `UPDATE position SET seq = ?`;

const FIND_VANISHED = `
  SELECT seq, attempts FROM work INDEXED BY work_claimed
  WHERE state = 'claimed' AND (lease_until_ms <= $now OR lease_until_ms > $now + ${String(LONGEST_LEASE_MS)})`;
const FIND_CLAIMED_BY = `SELECT seq, attempts FROM work INDEXED BY work_claimed WHERE state = 'claimed' AND worker = ?`;
const RETURN_VANISHED = `
  UPDATE work SET state = $state, due_at_ms = $dueAt, crashes = crashes + 1, worker = NULL, lease_until_ms = NULL,
    finished_at_ms = $finishedAt, last_error = 'The worker vanished while it handled this event.'
  WHERE seq = $seq AND state = 'claimed'`;

const FIND_DUE = `
  SELECT seq, due_at_ms AS dueAtMs, crashes, ordering_key AS orderingKey, EXISTS (
    SELECT 1 FROM work AS other INDEXED BY work_claimed WHERE other.state = 'claimed' AND other.ordering_key = work.ordering_key) AS taken
  FROM work INDEXED BY work_due
  WHERE state = 'pending' AND (due_at_ms, seq) > ($afterDueAt, $afterSeq) AND due_at_ms <= $until
  ORDER BY due_at_ms, seq LIMIT ${String(DUE_LIMIT)}`;
const CLAIM = `
  UPDATE work SET state = 'claimed', attempts = attempts + 1, token = token + 1, worker = $worker, lease_until_ms = $leaseUntil
  WHERE seq = $seq RETURNING seq, attempts, token, crashes`;

const EXTEND = `UPDATE work SET lease_until_ms = $leaseUntil WHERE seq = $seq AND token = $token AND state = 'claimed'`;
const FINISH = `
  UPDATE work SET state = $state, handled = handled + $handled, finished_at_ms = $now, last_error = $error, worker = NULL, lease_until_ms = NULL
  WHERE seq = $seq AND token = $token AND state = 'claimed'`;
const RETRY_LATER = `
  UPDATE work SET state = 'pending', due_at_ms = $dueAt, attempts = attempts - $uncounted, last_error = $error, worker = NULL, lease_until_ms = NULL
  WHERE seq = $seq AND token = $token AND state = 'claimed'`;
const REQUEUE = `
  UPDATE work SET state = 'pending', due_at_ms = 0, attempts = 0, crashes = 0, token = token + 1, finished_at_ms = NULL, last_error = NULL
  WHERE seq = $seq AND state IN ('dead', 'ignored')`;
const FIND_NEXT_DUE = `SELECT min(due_at_ms) AS dueAtMs FROM work INDEXED BY work_due WHERE state = 'pending'`;

/**
 * The verbs of the work file, one SQL statement each. None of them opens a transaction: the caller does, with as many
 * of them inside as belong together. Those that take a lease answer false when it was lost, and change nothing then.
 */
export function createWork(db: Database.Database, inbox: Database.Database) {
  const findPosition = db.prepare<[], { seq: number }>(FIND_POSITION);
  const findArrived = inbox.prepare<[number], { seq: number; type: string; ordering_key: string | null }>(
    FIND_ARRIVED,
  );
  const insertWork = db.prepare<[number, string, string | null]>(INSERT_WORK);
  const movePosition = db.prepare<[number]>(MOVE_POSITION);
  const findVanished = db.prepare<[{ now: number }], { seq: number; attempts: number }>(FIND_VANISHED);
  const findClaimedBy = db.prepare<[string], { seq: number; attempts: number }>(FIND_CLAIMED_BY);
  const returnVanished = db.prepare(RETURN_VANISHED);
  const findDue = db.prepare<[{ until: number; afterDueAt: number; afterSeq: number }], DueRow>(FIND_DUE);
  const claim = db.prepare<[{ seq: number; worker: string; leaseUntil: number }], ClaimedRow>(CLAIM);
  const extend = db.prepare(EXTEND);
  const finish = db.prepare(FINISH);
  const retryLater = db.prepare(RETRY_LATER);
  const requeue = db.prepare(REQUEUE);
  const findNextDue = db.prepare<[], { dueAtMs: number | null }>(FIND_NEXT_DUE);

  const vanish = (
    row: { seq: number; attempts: number },
    options: { nowMs: number; maximumAttempts: number; delayMs: number },
  ): void => {
    const buried = row.attempts >= options.maximumAttempts;
    returnVanished.run({
      seq: row.seq,
      state: buried ? "dead" : "pending",
      dueAt: options.delayMs === 0 ? 0 : options.nowMs + options.delayMs,
      finishedAt: buried ? options.nowMs : null,
    });
  };

  function* dueRows(nowMs: number): Generator<DueRow> {
    yield* dueBetween(-1, nowMs);
    // And what is due so far ahead that the clock must have been turned back since.
    yield* dueBetween(nowMs + LONGEST_DUE_MS, Number.MAX_SAFE_INTEGER);
  }

  function* dueBetween(fromMs: number, untilMs: number): Generator<DueRow> {
    let after = { afterDueAt: fromMs, afterSeq: Number.MAX_SAFE_INTEGER };
    for (let look = 0; look < DUE_LOOKS; look += 1) {
      const rows = findDue.all({ until: untilMs, ...after });
      yield* rows;
      const last = rows.at(-1);
      if (!last || rows.length < DUE_LIMIT) return;
      after = { afterDueAt: last.dueAtMs, afterSeq: last.seq };
    }
  }

  return {
    /** How far the inbox file has been read; what lies beyond is pending, though it has no row here yet. */
    position: (): number => findPosition.get()?.seq ?? 0,

    /** Takes newly arrived events over from the inbox file. Answers how many; 500 means that there may be more. */
    follow: (): number => {
      const arrived = findArrived.all(findPosition.get()?.seq ?? 0);
      for (const event of arrived) insertWork.run(event.seq, event.type, event.ordering_key);
      const last = arrived.at(-1);
      if (last) movePosition.run(last.seq);
      return arrived.length;
    },

    /** Makes events whose lease ran out pending again, at once; buries those that have no attempt left. */
    expire: (options: { nowMs: number; maximumAttempts: number }): number => {
      const vanished = findVanished.all({ now: options.nowMs });
      for (const row of vanished) vanish(row, { ...options, delayMs: 0 });
      return vanished.length;
    },

    /** Like `expire`, for a worker that is known to be dead; its events wait for their backoff. */
    release: (
      worker: string,
      options: { nowMs: number; maximumAttempts: number; backoffMs: (attempt: number) => number },
    ): number => {
      const held = findClaimedBy.all(worker);
      for (const row of held) vanish(row, { ...options, delayMs: options.backoffMs(row.attempts) });
      return held.length;
    },

    /**
     * Claims up to `slots` events, those first that have been due the longest, and never two of one object. An event
     * whose worker vanished may be the reason for it: it is claimed alone, and only when nothing else is `running`.
     */
    claim: (options: { nowMs: number; worker: string; slots: number; running: number }): ClaimedRow[] => {
      const claimed: ClaimedRow[] = [];
      const keys = new Set<string>();
      for (const due of dueRows(options.nowMs)) {
        if (claimed.length >= options.slots) break;
        if (due.taken === 1 || (due.orderingKey !== null && keys.has(due.orderingKey))) continue;
        if (due.crashes > 0 && options.running + claimed.length > 0) break;
        const leaseUntil = options.nowMs + LEASE_MS;
        claimed.push(...claim.all({ seq: due.seq, worker: options.worker, leaseUntil }));
        if (due.crashes > 0) break;
        if (due.orderingKey !== null) keys.add(due.orderingKey);
      }
      return claimed;
    },

    extend: (lease: Lease, nowMs: number): boolean =>
      extend.run({ ...lease, leaseUntil: nowMs + LEASE_MS }).changes === 1,

    done: (lease: Lease, nowMs: number): boolean =>
      finish.run({ ...lease, state: "done", handled: 1, now: nowMs, error: null }).changes === 1,

    ignore: (lease: Lease, nowMs: number): boolean =>
      finish.run({ ...lease, state: "ignored", handled: 0, now: nowMs, error: null }).changes === 1,

    bury: (lease: Lease, nowMs: number, error: string): boolean =>
      finish.run({ ...lease, state: "dead", handled: 0, now: nowMs, error }).changes === 1,

    fail: (lease: Lease, dueAtMs: number, error: string): boolean =>
      retryLater.run({ ...lease, dueAt: dueAtMs, uncounted: 0, error }).changes === 1,

    /** Gives an event back unhandled: it was claimed by a worker that is shutting down, so the attempt doesn't count. */
    giveBack: (lease: Lease): boolean =>
      retryLater.run({ ...lease, dueAt: 0, uncounted: 1, error: null }).changes === 1,

    requeue: (seq: number): boolean => requeue.run({ seq }).changes === 1,

    /** When the next pending event is due; one that waits for another of its object is due already. */
    nextDueAtMs: (): number | undefined => findNextDue.get()?.dueAtMs ?? undefined,
  };
}

export type Work = ReturnType<typeof createWork>;
