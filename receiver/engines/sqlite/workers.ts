import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { LEASE_MS, type ProcessOptions } from "../../engine.ts";
import type { Settling } from "./settling.ts";
import type { ClaimedJob } from "./taking.ts";
import type { Transactions } from "./transactions.ts";

/** How often a worker that holds claims writes its beat; how long none may be seen of one whose lease is over. */
const BEAT_MS = 300;
const STILL_MS = 750;

const INSERT = `INSERT INTO workers (id, beat, lease_until_ms) VALUES (?, 0, ?)`;
const BEAT = `UPDATE workers SET beat = beat + 1, lease_until_ms = ? WHERE number = ?`;
const FIND_OTHERS = `SELECT number, id, beat, lease_until_ms AS leaseUntilMs FROM workers WHERE number <> ?`;
const DELETE = `DELETE FROM workers WHERE number = ?`;

type Other = { number: number; id: string; beat: number; leaseUntilMs: number };

export type LeaseParts = {
  db: Database.Database;
  settling: Settling;
  transactions: Transactions;
  clock: Clock;
};

/**
 * This worker among all there are: its own lease, and the leases of others that are over. A worker counts its beats in
 * the work file and says until when its lease runs. Others take it for gone when that time is over and they saw no beat
 * for a moment, so that setting the clock makes no living worker look dead; or when they saw none for a whole lease,
 * whatever the clock says. One that holds no claims does not renew its lease: it may be taken for gone, and gets another
 * number with its next claim.
 */
export function createLease(
  { db, settling, transactions, clock }: LeaseParts,
  options: Pick<ProcessOptions, "workerId" | "predecessors"> & {
    held: () => ClaimedJob[];
    /** Somebody took this worker for gone: what it holds is handled elsewhere. */
    onLost: () => void;
  },
) {
  const insert = db.prepare<[string, number]>(INSERT);
  const writeBeat = db.prepare<[number, number]>(BEAT);
  const findOthers = db.prepare<[number], Other>(FIND_OTHERS);
  const remove = db.prepare<[number]>(DELETE);
  let worker: number | undefined;
  let nextBeatAtMs = clock.monotonicMs();
  let crashed = options.predecessors ?? [];
  let seen = new Map<number, { beat: number; atMs: number }>();

  return {
    beat,
    asWorker,
    /** A commit that reported a failure may have succeeded: the next beat comes at once, and returns what it claimed. */
    commitFailed: (): void => void (nextBeatAtMs = -Infinity),
    /** Wants a transaction of the caller's. */
    leave: (): void => {
      if (worker === undefined) return;
      returnUnknown(worker);
      remove.run(worker);
    },
  };

  /** Writes only when its own lease has to be renewed, or another's is over. */
  async function beat(): Promise<void> {
    const nowMs = clock.monotonicMs();
    if (nowMs < nextBeatAtMs) return;
    const isCommitUncertain = nextBeatAtMs === -Infinity;
    nextBeatAtMs = nowMs + BEAT_MS;
    const isDue = options.held().length > 0 || isCommitUncertain || crashed.length > 0;
    if (!isDue && vanished(worker ?? 0).length === 0) return;
    await asWorker((mine) => {
      const number = mine();
      returnUnknown(number);
      for (const gone of vanished(number)) {
        settling.takeBack(gone.number, clock.nowMs(), gone.why);
        remove.run(gone.number);
      }
    });
    crashed = [];
  }

  /** Workers other than `mine` that are gone: those that are known to have crashed, and those without a beat. */
  function vanished(mine: number): { number: number; why: "crashed" | "expired" }[] {
    const nowMs = clock.monotonicMs();
    const before = seen;
    seen = new Map();
    return findOthers.all(mine).flatMap((other) => {
      if (crashed.includes(other.id)) return { number: other.number, why: "crashed" };
      const last = before.get(other.number);
      const lastBeat = last?.beat === other.beat ? last : { beat: other.beat, atMs: nowMs };
      seen.set(other.number, lastBeat);
      const stillMs = nowMs - lastBeat.atMs;
      const isOver = other.leaseUntilMs <= clock.nowMs();
      return stillMs >= (isOver ? STILL_MS : LEASE_MS) ? { number: other.number, why: "expired" } : [];
    });
  }

  function returnUnknown(number: number): void {
    settling.returnUnknown(number, new Set(options.held().map(({ job }) => job)));
  }

  /** Runs `statements` in a transaction. Where they ask for the worker's number, to claim, it writes a beat as well. */
  async function asWorker<Result>(statements: (mine: () => number) => Result): Promise<Result> {
    const before = worker;
    const { number, result } = await transactions.run(() => {
      let number: number | undefined;
      const result = statements(() => (number ??= numbered(before)));
      return { number, result };
    });
    if (number === undefined) return result;
    worker = number;
    if (before !== undefined && before !== number) options.onLost();
    return result;
  }

  /** Writes a beat. Answers the worker's number: a new one when it has none, or was taken for gone. */
  function numbered(before: number | undefined): number {
    const until = clock.nowMs() + LEASE_MS;
    if (before !== undefined && writeBeat.run(until, before).changes === 1) return before;
    return Number(insert.run(options.workerId, until).lastInsertRowid);
  }
}
