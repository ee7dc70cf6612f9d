import { within, type Clock } from "../clock.ts";
import type { Intake } from "../engine.ts";

/** How long an answer about the database or the disk stays good. */
const FRESH_MS = 1_000;

/** A database that doesn't answer the probe in this time is not ready. */
const PROBE_LIMIT_MS = 3_000;

/** The reserve of free disk lasts for this time, at the rate of the last such time. */
const RESERVE_SECONDS = 60;

/** Bytes on disk for each byte of a body: write-ahead log, inbox, and what its handler may write. */
const COST_OF_A_BYTE = 3;

/** Whether this process would do its part now, and of each thing that it looked at `ok` or what is wrong. */
export type Readiness = { ready: boolean; checks: Record<string, string> };

export type Health = {
  readiness: () => Promise<Readiness>;
  draining: () => boolean;
  startDraining: () => void;
  /** Whether the free space is below the low-water mark. A full SQLite cannot even delete, so this comes first. */
  diskLow: () => boolean;
  stop: () => void;
};

/**
 * Ready means that the database took a write, the disk has room, and nobody has asked us to stop; it becomes true again
 * without a restart. Where events are taken, handlers don't count: while one of them blocks, events go on being stored.
 */
export function createHealth(options: {
  probe: Intake["probe"];
  clock: Clock;
  freeBytes: () => Promise<number>;
  minimumFreeBytes: number;
  /** Bytes of bodies that were stored since the start. */
  storedBytes: () => number;
  /** Given in the role `worker` alone, which isn't ready without its worker process. */
  workerAlive?: (() => boolean) | undefined;
}): Health {
  const { clock, storedBytes } = options;
  let draining = false;
  let diskLow = false;
  let probed: { atMs: number; result: Promise<string> } | undefined;
  let stopped = false;
  let cancel = (): void => undefined;
  /** The total of each of the last seconds. */
  const totals = [storedBytes()];
  void watchDisk();

  return {
    readiness,
    draining: () => draining,
    startDraining: () => void (draining = true),
    diskLow: () => diskLow,
    stop: () => {
      stopped = true;
      cancel();
    },
  };

  async function readiness(): Promise<Readiness> {
    const checks: Record<string, string> = {
      database: await database(),
      disk: diskLow ? "below the low-water mark" : "ok",
      draining: draining ? "shutting down" : "ok",
    };
    if (options.workerAlive) checks["worker"] = options.workerAlive() ? "ok" : "no sign of life";
    return { ready: Object.values(checks).every((check) => check === "ok"), checks };
  }

  async function database(): Promise<string> {
    if (!probed || clock.monotonicMs() - probed.atMs >= FRESH_MS)
      probed = { atMs: clock.monotonicMs(), result: probe() };
    return probed.result;
  }

  async function probe(): Promise<string> {
    const result = await within(PROBE_LIMIT_MS, options.probe(), clock);
    if (!result) return "timeout";
    return result.ok ? "ok" : result.reason;
  }

  async function watchDisk(): Promise<void> {
    // A file system that can't tell is no reason to refuse events.
    const freeBytes = await options.freeBytes().catch(() => Number.POSITIVE_INFINITY);
    diskLow = freeBytes < Math.max(options.minimumFreeBytes, bytesOfLastMinute() * COST_OF_A_BYTE);
    if (!stopped) cancel = clock.after(FRESH_MS, () => void watchDisk());
  }

  function bytesOfLastMinute(): number {
    const total = storedBytes();
    totals.push(total);
    const before = totals.length > RESERVE_SECONDS ? totals.shift() : totals[0];
    return total - (before ?? 0);
  }
}
