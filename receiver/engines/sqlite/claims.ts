import type Database from "better-sqlite3";
import type { RetryPolicy } from "../../engine.ts";
import type { Ending } from "../ending.ts";

/** A due time further ahead than anything we ever set means that the clock was turned back: it counts as come. */
const LONGEST_DUE_MS = 2 * 86_400_000;

/** Envelopes may have a megabyte, and those of a claim are in memory together. One half is for retries, if new events wait too. */
const LARGEST_CLAIM_CHARACTERS = 8_388_608;

/** The holder of a claim: only with the latest token may anything be written. */
export type Lease = { seq: number; token: number };

/** An event that was claimed, with all that its handler needs. */
export type ClaimedEvent = Lease & {
  id: string;
  type: string;
  receivedAtMs: number;
  body: string;
  attempts: number;
  /** How often its worker vanished: such an event may be the reason for it. */
  crashes: number;
};

type EventRow = { seq: number; id: string; type: string; receivedAtMs: number; body: string | null };
type WorkRow = { attempts: number; token: number; crashes: number };

const FIND_POSITION = `SELECT seq FROM position`;
const MOVE_POSITION = `UPDATE position SET seq = $seq, deleted = deleted + $deleted`;
const EVENT_COLUMNS = `
  seq, 'evt_' || lower(hex(key)) AS id, type, received_at_ms AS receivedAtMs, CAST(body AS TEXT) AS body`;
const FIND_ARRIVED = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`;
const FIND_EVENT = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq = ?`;
const CLAIM_ARRIVED = `INSERT INTO work (seq, state, attempts, token, worker) VALUES (?, 'claimed', 1, 1, ?)`;

// INDEXED BY, because SQLite keeps no statistics here: on a long queue the wrong index is the difference between
// looking at one row and sorting all of them. A missing index is an error then.
const FIND_DUE = `
  SELECT seq, crashes FROM work INDEXED BY work_due
  WHERE state = 'pending' AND due_at_ms BETWEEN ? AND ? ORDER BY due_at_ms LIMIT ?`;
const CLAIM = `
  UPDATE work SET state = 'claimed', attempts = attempts + 1, token = token + 1, worker = ?, due_at_ms = NULL
  WHERE seq = ? AND state = 'pending' RETURNING attempts, token, crashes`;

// Only files that come from different backups make this happen.
const GIVE_UP = `
  UPDATE work SET state = 'dead', due_at_ms = NULL, finished_at_ms = ?, last_error = 'Its envelope is not in the inbox file.'
  WHERE seq = ? AND state = 'pending'`;

const HELD = `WHERE seq = ? AND token = ? AND state = 'claimed'`;
const SETTLE = `
  UPDATE work SET state = ?, handled = handled + ?, due_at_ms = ?, finished_at_ms = ?, last_error = ?, worker = NULL ${HELD}`;
const RETURN = `
  UPDATE work SET state = 'pending', due_at_ms = 0, attempts = attempts - 1, worker = NULL ${HELD}`;

const RETURN_UNHEARD = `
  UPDATE work SET state = 'pending', attempts = attempts - 1, token = token + 1, due_at_ms = 0, worker = NULL
  WHERE seq = ? AND state = 'claimed'`;

const FIND_CLAIMED_BY = `SELECT seq, attempts FROM work INDEXED BY work_claimed WHERE state = 'claimed' AND worker = ?`;
const TAKE_BACK = `
  UPDATE work SET state = $state, due_at_ms = $dueAt, finished_at_ms = $finishedAt, crashes = crashes + 1, token = token + 1,
    worker = NULL, last_error = 'The worker vanished while it handled this event.'
  WHERE seq = $seq AND state = 'claimed'`;

/**
 * The verbs of the work file, a statement or two each. None of them opens a transaction: the caller does, with as many
 * of them inside as belong together. Those that take a lease answer false when it was lost, and change nothing then.
 */
export function createClaims(db: Database.Database, inbox: Database.Database, retry: RetryPolicy) {
  const findPosition = db.prepare<[], number>(FIND_POSITION).pluck();
  const movePosition = db.prepare<[{ seq: number; deleted: number }]>(MOVE_POSITION);
  const findArrived = inbox.prepare<[number, number], EventRow>(FIND_ARRIVED);
  const findEvent = inbox.prepare<[number], EventRow>(FIND_EVENT);
  const claimArrived = db.prepare<[number, number]>(CLAIM_ARRIVED);
  const findDue = db.prepare<[number, number, number], { seq: number; crashes: number }>(FIND_DUE);
  const claim = db.prepare<[number, number], WorkRow>(CLAIM);
  const giveUp = db.prepare<[number, number]>(GIVE_UP);
  const settle =
    db.prepare<[string, number, number | null, number | null, string | null, number, number]>(SETTLE);
  const giveBack = db.prepare<[number, number]>(RETURN);
  const returnUnheard = db.prepare<[number]>(RETURN_UNHEARD);
  const findClaimedBy = db.prepare<[number], { seq: number; attempts: number }>(FIND_CLAIMED_BY);
  const takeBack = db.prepare(TAKE_BACK);
  /** Characters that are left to the claim that is being made. */
  let room = 0;

  return {
    /**
     * Claims up to `limit` events for `worker`. Retries that are due get half of the places when new events wait too,
     * and the other way round. An event whose worker vanished is claimed alone, and only when nothing is `running`.
     * Large events are claimed a few at a time.
     */
    claim(options: { nowMs: number; worker: number; limit: number; running: number }): ClaimedEvent[] {
      const { nowMs, limit, running } = options;
      room = LARGEST_CLAIM_CHARACTERS / 2;
      const due = [
        ...findDue.all(0, nowMs, limit),
        ...findDue.all(nowMs + LONGEST_DUE_MS, Number.MAX_SAFE_INTEGER, limit),
      ];
      const suspect = due.findIndex(({ crashes }) => crashes > 0);
      if (suspect === 0) return running > 0 ? [] : due.slice(0, 1).flatMap(({ seq }) => again(seq, options));
      const retries = due.slice(0, suspect > 0 ? suspect : limit).map(({ seq }) => seq);

      const first = retries.slice(0, Math.ceil(limit / 2)).flatMap((seq) => again(seq, options));
      room += LARGEST_CLAIM_CHARACTERS / 2;
      const fresh = arrived(options.worker, limit - first.length);
      const free = limit - first.length - fresh.length;
      const rest = retries.slice(Math.ceil(limit / 2)).slice(0, free);
      return [...first, ...fresh, ...rest.flatMap((seq) => again(seq, options))];
    },

    /** Writes down how an attempt ended, `nowMs`. */
    settle({ seq, token }: Lease, { state, error, delayMs = 0 }: Ending, nowMs: number): boolean {
      const handled = state === "done" ? 1 : 0;
      const [dueAtMs, finishedAtMs] = state === "pending" ? [nowMs + delayMs, null] : [null, nowMs];
      return settle.run(state, handled, dueAtMs, finishedAtMs, error, seq, token).changes === 1;
    },
    /** Gives an event back unhandled: its worker is shutting down, so the attempt doesn't count. */
    return: ({ seq, token }: Lease): boolean => giveBack.run(seq, token).changes === 1,

    /** Returns what a worker has claimed without having heard of it: a commit may fail, and have succeeded all the same. */
    returnUnheard(worker: number, heard: ReadonlySet<number>): void {
      for (const { seq } of findClaimedBy.all(worker)) if (!heard.has(seq)) returnUnheard.run(seq);
    },

    /**
     * Takes back what a vanished worker held; what has no attempt left is dead. What outlived a lease is due at once,
     * what a crash set free after its backoff.
     */
    takeBack(worker: number, nowMs: number, why: "expired" | "crashed"): number {
      const held = findClaimedBy.all(worker);
      for (const { seq, attempts } of held) {
        const isDead = attempts >= retry.maximumAttempts;
        takeBack.run({
          seq,
          state: isDead ? "dead" : "pending",
          dueAt: isDead ? null : why === "expired" ? 0 : nowMs + retry.backoffMs(attempts),
          finishedAt: isDead ? nowMs : null,
        });
      }
      return held.length;
    },
  };

  /** The next events that nobody has looked at yet. */
  function arrived(worker: number, limit: number): ClaimedEvent[] {
    const claimed: ClaimedEvent[] = [];
    let last: number | undefined;
    let deleted = 0;
    if (limit <= 0 || room <= 0) return claimed;
    for (const row of findArrived.iterate(findPosition.get() ?? 0, limit)) {
      last = row.seq;
      // Pruned, and the work file was lost since: it was handled then.
      if (row.body === null) deleted += 1;
      else {
        claimArrived.run(row.seq, worker);
        claimed.push(toClaimed(row, row.body, { attempts: 1, token: 1, crashes: 0 }));
      }
      if (room <= 0) break;
    }
    if (last !== undefined) movePosition.run({ seq: last, deleted });
    return claimed;
  }

  function again(seq: number, { worker, nowMs }: { worker: number; nowMs: number }): ClaimedEvent[] {
    if (room <= 0) return [];
    const event = findEvent.get(seq);
    if (!event?.body) {
      giveUp.run(nowMs, seq);
      return [];
    }
    const work = claim.get(worker, seq);
    return work ? [toClaimed(event, event.body, work)] : [];
  }

  function toClaimed({ seq, id, type, receivedAtMs }: EventRow, body: string, work: WorkRow): ClaimedEvent {
    const { attempts, token, crashes } = work;
    room -= body.length;
    return { seq, id, type, receivedAtMs, body, attempts, token, crashes };
  }
}

export type Claims = ReturnType<typeof createClaims>;
