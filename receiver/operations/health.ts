import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { within, type Clock } from "../clock.ts";
import type { Intake } from "../store/port.ts";

/** How long an answer about the database or the disk stays good. */
const FRESH_MS = 1_000;
/** A database that doesn't answer the probe in this time is not ready. */
const PROBE_LIMIT_MS = 3_000;
/** SQLite needs some room to be able to delete. */
const LEAST_FREE_BYTES = 1_048_576;
/** The reserve of free disk lasts for so many seconds like the last one. */
const RESERVE_SECONDS = 10;

/** Whether this process would do its part now; each check is `ok` or says what is wrong. */
export type Readiness = { ready: boolean; checks: Record<string, string> };

export type Health = {
  readiness: () => Promise<Readiness>;
  draining: () => boolean;
  startDraining: () => void;
  /** Whether the free space is below the low-water mark: a full SQLite cannot even delete, so events are refused before. */
  diskLow: () => boolean;
  stop: () => void;
};

/** How the handlers' process is; `problem` says why they could not be started. */
export type WorkerStatus = {
  state: "starting" | "working" | "broken" | "restarting";
  problem?: string | undefined;
};

/**
 * Ready means that the database took a write within the last second, the disk has room, and the receiver is not told to
 * stop. The handlers' process counts in the role `worker` alone: where events are taken, that goes on whatever handlers do.
 */
export function createHealth(options: {
  probe: Intake["probe"];
  clock: Clock;
  minimumFreeBytes: number;
  freeBytes: () => Promise<number>;
  role: "all" | "ingest" | "worker";
  workerStatus?: (() => WorkerStatus) | undefined;
}): Health {
  const { clock, minimumFreeBytes, role, workerStatus } = options;
  let draining = false;
  let diskLow = false;
  let reserve = 0;
  let freeBefore = 0;
  let probed: { atMs: number; result: Promise<string> } | undefined;
  let cancel: (() => void) | undefined = () => undefined;
  void watchDisk();

  return {
    readiness: async () => {
      if (!probed || clock.monotonicMs() - probed.atMs >= FRESH_MS)
        probed = { atMs: clock.monotonicMs(), result: probe() };
      const checks: Record<string, string> = {
        database: await probed.result,
        disk: diskLow ? "below the low-water mark" : "ok",
        draining: draining ? "shutting down" : "ok",
      };
      const ready = Object.values(checks).every((check) => check === "ok");
      if (!workerStatus) return { ready, checks };
      const { state } = workerStatus();
      checks["handlers"] = state === "working" ? "ok" : state === "broken" ? "could not be started" : state;
      return { ready: ready && (role !== "worker" || state === "working"), checks };
    },
    draining: () => draining,
    startDraining: () => void (draining = true),
    diskLow: () => diskLow,
    stop: () => {
      cancel?.();
      cancel = undefined;
    },
  };

  async function probe(): Promise<string> {
    const result = await within(PROBE_LIMIT_MS, options.probe(), clock);
    if (!result) return "timeout";
    return result.ok ? "ok" : result.reason;
  }

  async function watchDisk(): Promise<void> {
    // A file system that cannot say is no reason to refuse events.
    const free = await options.freeBytes().catch(() => Number.POSITIVE_INFINITY);
    reserve = Math.max((freeBefore - free) * RESERVE_SECONDS, reserve * 0.9);
    freeBefore = free;
    diskLow = free < Math.max(minimumFreeBytes, LEAST_FREE_BYTES, reserve);
    if (cancel) cancel = clock.after(FRESH_MS, () => void watchDisk());
  }
}

/** Free bytes of the disk that holds a database. A database on a server reports a full disk itself. */
export async function freeBytesFor(databaseFile: string | undefined): Promise<number> {
  if (databaseFile === undefined) return Number.POSITIVE_INFINITY;
  const { bavail, bsize } = await statfs(dirname(databaseFile));
  return bavail * bsize;
}
