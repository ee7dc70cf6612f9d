import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { within, type Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Intake } from "../store/port.ts";
import type { Status } from "../work/supervisor.ts";

/** How long a result for the database or the disk stays fresh. */
const FRESH_MS = 1_000;
/** A database that does not answer the probe within this time is not ready. */
const PROBE_LIMIT_MS = 3_000;

/** Whether this process can do its work now; each check is `ok` or a problem. */
export type Readiness = { ready: boolean; checks: Record<string, string> };

export type Health = ReturnType<typeof createHealth>;

/**
 * Ready: the database accepted a write within the last second, the disk has room, and the receiver is not stopping. The
 * handlers' process counts only in the role `worker`: where events are taken, that continues whatever handlers do.
 */
export function createHealth(
  options: Pick<Config, "minimumFreeBytes" | "role"> & {
    probe: Intake["probe"];
    clock: Clock;
    /** Undefined for a database server, which reports a full disk itself. */
    freeBytes: () => Promise<number | undefined>;
    workerStatus?: (() => Status) | undefined;
  },
) {
  const { clock, role, workerStatus } = options;
  let [draining, diskLow, stopped] = [false, false, false];
  let probed: { atMs: number; result: Promise<string> } | undefined;
  void watchDisk();

  return {
    readiness: async (): Promise<Readiness> => {
      const nowMs = clock.monotonicMs();
      if (!probed || nowMs - probed.atMs >= FRESH_MS) probed = { atMs: nowMs, result: probe() };
      const { state = "working" } = workerStatus?.() ?? {};
      const own = {
        database: await probed.result,
        disk: diskLow ? "below the low-water mark" : "ok",
        draining: draining ? "shutting down" : "ok",
      };
      const all = { ...own, handlers: state === "working" ? "ok" : state };
      const counted = Object.values(role === "worker" ? all : own);
      return { ready: counted.every((check) => check === "ok"), checks: workerStatus ? all : own };
    },
    draining: () => draining,
    startDraining: () => void (draining = true),
    /** Whether free space is below the low-water mark: a full SQLite cannot even delete, so events are refused earlier. */
    diskLow: () => diskLow,
    stop: () => void (stopped = true),
  };

  async function probe(): Promise<string> {
    const result = await within(PROBE_LIMIT_MS, options.probe(), clock);
    return result?.ok === true ? "ok" : (result?.reason ?? "timeout");
  }

  async function watchDisk(): Promise<void> {
    if (stopped) return;
    // A file system that does not report its free space is no reason to refuse events.
    const free = await options.freeBytes().catch(() => undefined);
    diskLow = free !== undefined && free < options.minimumFreeBytes;
    clock.after(FRESH_MS, () => void watchDisk());
  }
}

/** Free bytes on the disk of a database file. */
export async function freeBytesFor(databaseFile: string | undefined): Promise<number | undefined> {
  if (databaseFile === undefined) return undefined;
  const { bavail, bsize } = await statfs(dirname(databaseFile));
  return bavail * bsize;
}
