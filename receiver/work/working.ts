import { clearInterval, setInterval } from "node:timers";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Engine, FailedJob, Handled } from "../engine.ts";
import type { Log } from "../operations/log.ts";
import { createRestClient } from "../operations/rest-client.ts";
import { secretsOf } from "../operations/secrets.ts";
import type { Handler } from "./handler.ts";
import { logHandled, startLoop, type Loop } from "./loop.ts";

const RETENTION_INTERVAL_MS = 3_600_000;
const DAY_MS = 86_400_000;

export type Working = {
  loop: Loop;
  /** Drains the loop, then closes the database. */
  stop: (graceMs: number, failed?: readonly FailedJob[]) => Promise<void>;
};

/** All that whoever handles jobs does: its loop, and the retention of what is finished. */
export async function startWorking(options: {
  /** Its own: closed when it stops. */
  engine: Engine;
  config: Config;
  log: Log;
  handlers: readonly Handler[];
  services?: unknown;
  workerId?: string;
  predecessors?: readonly string[];
  onHandled: (handled: Handled) => void;
  onStuck: (job: FailedJob) => void;
}): Promise<Working> {
  const { config, engine, log } = options;
  const clock = systemClock;
  const loop = await startLoop({
    ...options,
    defaults: config,
    clock,
    api: config.api && createRestClient({ ...config.api, clock, random: Math.random }),
    secrets: secretsOf(config),
    onHandled: (handled) => {
      logHandled(log, handled);
      options.onHandled(handled);
    },
  });
  const prune = async (): Promise<void> => {
    try {
      const pruned = await engine.ledger.prune({
        bodiesOlderThanMs: config.retentionDays * DAY_MS,
        idsOlderThanMs: config.idRetentionDays * DAY_MS,
      });
      if (pruned.bodies + pruned.ids > 0) log.info(pruned, "pruned what was kept long enough");
    } catch (error) {
      log.error({ err: error }, "retention failed; it is tried again in an hour");
    }
  };
  void prune();
  const retention = setInterval(() => void prune(), RETENTION_INTERVAL_MS);

  return {
    loop,
    stop: async (graceMs, failed) => {
      clearInterval(retention);
      await loop.drain(graceMs, failed);
      await engine.close();
    },
  };
}
