import type { Clock } from "../../clock.ts";
import { LEASE_MS, type ProcessOptions } from "../../engine.ts";
import type { Handlers } from "./handlers.ts";
import type { Settling } from "./settling.ts";
import type { ClaimedJob } from "./taking.ts";
import type { Transactions } from "./transactions.ts";
import { BEAT_MS, IDLE_BEAT_MS, type Workers } from "./workers.ts";

/** This worker among all there are: its lease, and the leases of others that are over. */
export function createPresence(
  engine: {
    settling: Settling;
    handlers: Handlers;
    workers: Workers;
    transactions: Transactions;
    clock: Clock;
  },
  options: Pick<ProcessOptions, "workerId" | "predecessors"> & {
    held: () => ClaimedJob[];
    /** Somebody took this worker for dead: what it holds is handled elsewhere. */
    onLost: () => void;
  },
) {
  const { settling, handlers, workers, transactions, clock } = engine;
  const { held } = options;
  let worker: number | undefined;
  let nextBeatAtMs = clock.monotonicMs();
  let last: { atMs: number; holds: boolean } | undefined;
  let predecessors = options.predecessors ?? [];
  let inDoubt = false;

  return {
    beat,
    asWorker,
    nextBeatAtMs: (): number => nextBeatAtMs,
    /** A commit that failed may have succeeded: with the next beat, now, what it claimed is returned. */
    doubt: (): void => {
      inDoubt = true;
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
    if (!isDue() && workers.vanished(worker ?? 0).length === 0) return false;
    await asWorker(held().length > 0, (number) => {
      settling.returnUnheard(number, new Set(held().map(({ job }) => job)));
      for (const id of predecessors) for (const gone of workers.numbersOf(id)) takeOver(gone, "crashed");
      for (const gone of workers.vanished(number)) takeOver(gone, "expired");
      handlers.ignoreGone(clock.nowMs());
    });
    predecessors = [];
    inDoubt = false;
    return true;
  }

  function isDue(): boolean {
    if (last === undefined || inDoubt || held().length > 0) return true;
    return clock.monotonicMs() - last.atMs >= (last.holds ? LEASE_MS / 3 : IDLE_BEAT_MS);
  }

  function takeOver(gone: number, why: "expired" | "crashed"): void {
    settling.takeBack(gone, clock.nowMs(), why);
    workers.remove(gone);
  }

  /** Runs `statements` in a transaction that gives a sign of life as well, unless there was one just now. */
  async function asWorker<Result>(holds: boolean, statements: (worker: number) => Result): Promise<Result> {
    const mine = worker;
    const sign = { atMs: clock.monotonicMs(), holds };
    const isFresh = mine !== undefined && last?.holds === true && sign.atMs - last.atMs < BEAT_MS;
    const { number, result } = await transactions.run(() => {
      const registered = isFresh && holds ? mine : workers.beat(mine, options.workerId, holds);
      return { number: registered, result: statements(registered) };
    });
    if (!isFresh) last = sign;
    worker = number;
    if (mine !== undefined && mine !== number) options.onLost();
    return result;
  }
}
