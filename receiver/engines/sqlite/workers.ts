import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { LEASE_MS, type ProcessOptions } from "../../engine.ts";
import type { Handlers } from "./handlers.ts";
import type { Settling } from "./settling.ts";
import type { ClaimedJob } from "./taking.ts";
import type { Transactions } from "./transactions.ts";

/** How often a worker that holds claims gives its sign of life, and how long it must have been seen without one before it is given up. */
const BEAT_MS = 300;
const STILL_MS = 750;

/** How often one that holds nothing writes, to end what waits for handlers that are gone. */
const IDLE_BEAT_MS = 120_000;

const INSERT = `INSERT INTO workers (id, beat, lease_until_ms) VALUES (?, 0, ?)`;
const BEAT = `UPDATE workers SET beat = beat + 1, lease_until_ms = ? WHERE number = ?`;
const FIND_OTHERS = `SELECT number, beat, lease_until_ms FROM workers WHERE number <> ?`;
// Left behind by a worker that removed itself and could not return everything.
const FIND_ORPHANED = `
  SELECT DISTINCT worker FROM jobs INDEXED BY jobs_claimed
  WHERE worker IS NOT NULL AND worker NOT IN (SELECT number FROM workers)`;
const DELETE = `DELETE FROM workers WHERE number = ?`;

type Other = { number: number; beat: number; lease_until_ms: number };

/**
 * Who handles events, and who no longer does. A worker counts its beats in the work file and says until when its lease
 * runs. It is gone when that time is over and it was seen to stand still as well, so that no clock that is set makes a
 * living worker look dead; and also when it stood still for a whole lease, whatever the clock says. One that holds no
 * claims does not renew its lease: others may take it for gone, and it gets another number with its next claim. The verbs
 * want a transaction of the caller's, but for `vanished`, which only reads.
 */
export function createWorkers(db: Database.Database, clock: Clock) {
  const insert = db.prepare<[string, number]>(INSERT);
  const beat = db.prepare<[number, number]>(BEAT);
  const findOthers = db.prepare<[number], Other>(FIND_OTHERS);
  const findOrphaned = db.prepare<[], number>(FIND_ORPHANED).pluck();
  const findNumbers = db.prepare<[string], number>(`SELECT number FROM workers WHERE id = ?`).pluck();
  const remove = db.prepare<[number]>(DELETE);
  const seen = new Map<number, { beat: number; atMs: number }>();

  return {
    /**
     * Gives a sign of life of the worker `number`. Answers its number: another one when it has none yet, or when somebody
     * took it for dead and its claims are not its own any more.
     */
    beat(number: number | undefined, id: string): number {
      const until = clock.nowMs() + LEASE_MS;
      if (number !== undefined && beat.run(until, number).changes === 1) return number;
      return Number(insert.run(id, until).lastInsertRowid);
    },
    numbersOf: (id: string): number[] => findNumbers.all(id),
    remove: (number: number): void => void remove.run(number),
    /** Workers other than `number` that are gone. */
    vanished(number: number): number[] {
      const nowMs = clock.monotonicMs();
      const others = findOthers.all(number);
      for (const known of seen.keys())
        if (!others.some((other) => other.number === known)) seen.delete(known);
      const gone = others.filter((other) => {
        const last = seen.get(other.number);
        if (last?.beat !== other.beat) {
          seen.set(other.number, { beat: other.beat, atMs: nowMs });
          return false;
        }
        const stillMs = nowMs - last.atMs;
        return stillMs >= LEASE_MS || (stillMs >= STILL_MS && other.lease_until_ms <= clock.nowMs());
      });
      return [...gone.map((other) => other.number), ...findOrphaned.all()];
    },
  };
}

export type Workers = ReturnType<typeof createWorkers>;

export type LeaseParts = {
  settling: Settling;
  handlers: Handlers;
  workers: Workers;
  transactions: Transactions;
  clock: Clock;
};

/** This worker among all there are: its own lease, and the leases of others that are over. */
export function createLease(
  engine: LeaseParts,
  options: Pick<ProcessOptions, "workerId" | "predecessors"> & {
    held: () => ClaimedJob[];
    /** Somebody took this worker for dead: what it holds is handled elsewhere. */
    onLost: () => void;
  },
) {
  const { settling, handlers, workers, transactions, clock } = engine;
  const { held } = options;
  let worker: number | undefined;
  let beatAtMs = -Infinity;
  let nextBeatAtMs = clock.monotonicMs();
  let predecessors = options.predecessors ?? [];
  let isCommitUncertain = false;

  return {
    beat,
    asWorker,
    nextBeatAtMs: (): number => nextBeatAtMs,
    /** A commit that failed may have succeeded: with the next beat, now, what it claimed is returned. */
    commitFailed: (): void => {
      isCommitUncertain = true;
      nextBeatAtMs = -Infinity;
    },
    /** Wants a transaction of the caller's. */
    leave: (): void => {
      if (worker !== undefined) workers.remove(worker);
    },
  };

  /** Writes only when its own lease has to be renewed, or somebody else's is over. Answers whether it did. */
  async function beat(): Promise<boolean> {
    if (clock.monotonicMs() < nextBeatAtMs) return false;
    nextBeatAtMs = clock.monotonicMs() + BEAT_MS;
    const isDue = held().length > 0 || isCommitUncertain || clock.monotonicMs() - beatAtMs >= IDLE_BEAT_MS;
    if (!isDue && workers.vanished(worker ?? 0).length === 0) return false;
    await asWorker((number) => {
      settling.returnUnknown(number, new Set(held().map(({ job }) => job)));
      for (const id of predecessors) for (const gone of workers.numbersOf(id)) takeOver(gone, "crashed");
      for (const gone of workers.vanished(number)) takeOver(gone, "expired");
      handlers.ignoreGone(clock.nowMs());
    });
    predecessors = [];
    isCommitUncertain = false;
    return true;
  }

  function takeOver(gone: number, why: "expired" | "crashed"): void {
    settling.takeBack(gone, clock.nowMs(), why);
    workers.remove(gone);
  }

  /** Runs `statements` in a transaction that gives a sign of life as well, unless there was one just now. */
  async function asWorker<Result>(statements: (worker: number) => Result): Promise<Result> {
    const mine = worker;
    const nowMs = clock.monotonicMs();
    const isFresh = nowMs - beatAtMs < BEAT_MS;
    const { number, result } = await transactions.run(() => {
      const registered = mine !== undefined && isFresh ? mine : workers.beat(mine, options.workerId);
      return { number: registered, result: statements(registered) };
    });
    if (!isFresh) beatAtMs = nowMs;
    worker = number;
    if (mine !== undefined && mine !== number) options.onLost();
    return result;
  }
}
