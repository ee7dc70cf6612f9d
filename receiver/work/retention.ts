import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Log } from "../operations/log.ts";
import type { Store } from "../store/port.ts";

const INTERVAL_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Prunes bodies and ids that were kept long enough, now and every hour. Returns how to stop. */
export function startRetention(options: {
  store: Store;
  config: Pick<Config, "retentionDays" | "idRetentionDays">;
  clock: Clock;
  log: Log;
}): () => void {
  const { store, config, clock, log } = options;
  let cancel = (): void => undefined;
  void prune();
  return () => cancel();

  async function prune(): Promise<void> {
    cancel = clock.after(INTERVAL_MS, () => void prune());
    try {
      const nowMs = await store.nowMs();
      const pruned = await store.ledger.prune({
        bodiesMs: nowMs - config.retentionDays * DAY_MS,
        idsMs: nowMs - config.idRetentionDays * DAY_MS,
      });
      if (pruned.bodies + pruned.ids > 0) log.info(pruned, "pruned what was kept long enough");
    } catch (error) {
      log.error({ err: error }, "retention failed; it is tried again in an hour");
    }
  }
}
