import type { Clock } from "../clock.ts";
import type { Intake } from "../engine.ts";

/** How long an answer about the database or the disk stays good. */
const FRESH_MS = 1_000;

/** A database that doesn't answer the probe in this time is not ready. */
const PROBE_LIMIT_MS = 3_000;

/** `ok`, or what is wrong. */
export type Check = string;

export type Health = {
  /** Whether this process would do its work now, and what it looked at. */
  readiness: () => Promise<{ ready: boolean; checks: Record<string, Check> }>;
  draining: () => boolean;
  startDraining: () => void;
  /** Whether the free space is below the low-water mark. A full SQLite cannot even delete, so this comes first. */
  diskLow: () => boolean;
  stop: () => void;
};

/**
 * Health that tells the truth: the database took a write, the background loop gave a sign of life, the disk has room,
 * and nobody has asked us to stop. Nothing has to be restarted for it to turn good again.
 */
export function createHealth(options: {
  probe: Intake["probe"];
  clock: Clock;
  freeBytes: () => Promise<number>;
  minimumFreeBytes: number;
  /** Whether the handlers' process gave a sign of life, where that is what this process is there for. */
  workerAlive?: () => boolean;
}): Health {
  const { clock } = options;
  let draining = false;
  let diskLow = false;
  let probed: { atMs: number; result: Promise<Check> } | undefined;
  let cancel = (): void => undefined;
  void watchDisk();

  return {
    readiness,
    draining: () => draining,
    startDraining: () => {
      draining = true;
    },
    diskLow: () => diskLow,
    stop: () => cancel(),
  };

  async function readiness(): Promise<{ ready: boolean; checks: Record<string, Check> }> {
    const checks: Record<string, Check> = {
      database: await database(),
      disk: diskLow ? "below the low-water mark" : "ok",
      draining: draining ? "shutting down" : "ok",
    };
    if (options.workerAlive) checks["worker"] = options.workerAlive() ? "ok" : "no sign of life";
    return { ready: Object.values(checks).every((check) => check === "ok"), checks };
  }

  async function database(): Promise<Check> {
    if (!probed || clock.monotonicMs() - probed.atMs >= FRESH_MS) {
      probed = { atMs: clock.monotonicMs(), result: probe() };
    }
    return probed.result;
  }

  async function probe(): Promise<Check> {
    const patience = new AbortController();
    const answered = options.probe().then((result) => (result.ok ? "ok" : result.reason));
    const result = await Promise.race([
      answered,
      clock.sleep(PROBE_LIMIT_MS, patience.signal).then(() => "timeout"),
    ]);
    patience.abort();
    return result;
  }

  async function watchDisk(): Promise<void> {
    // A file system that can't tell is no reason to refuse events.
    diskLow = (await options.freeBytes().catch(() => Number.POSITIVE_INFINITY)) < options.minimumFreeBytes;
    cancel = clock.after(FRESH_MS, () => void watchDisk());
  }
}
