import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Log } from "../operations/log.ts";
import type { Ledger } from "../store/port.ts";

const DAY_MS = 86_400_000;
const FIRST_MS = 60_000;
const EVERY_MS = 3_600_000;

/** Prunes once an hour what RETENTION_DAYS and ID_RETENTION_DAYS have passed. Returns how to stop. */
export function startRetention(options: {
  ledger: Pick<Ledger, "prune">;
  config: Pick<Config, "retentionDays" | "idRetentionDays">;
  clock: Clock;
  log: Log;
}): () => void {
  const { ledger, config, clock, log } = options;
  let cancel = clock.after(FIRST_MS, () => void prune());
  return () => cancel();

  async function prune(): Promise<void> {
    cancel = clock.after(EVERY_MS, () => void prune());
    const nowMs = clock.nowMs();
    try {
      const bodiesMs = nowMs - config.retentionDays * DAY_MS;
      const pruned = await ledger.prune({ bodiesMs, idsMs: nowMs - config.idRetentionDays * DAY_MS });
      if (pruned.bodies + pruned.ids > 0) log.info(pruned, "pruned");
    } catch (error) {
      log.error({ err: error }, "pruning failed; it is tried again in an hour");
    }
  }
}
