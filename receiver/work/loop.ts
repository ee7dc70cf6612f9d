import { clearInterval, setInterval } from "node:timers";
import { systemClock, type Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Engine, FailedJob, Handled, Processor, ProcessOptions } from "../engine.ts";
import type { Log } from "../operations/log.ts";
import { knownType } from "../operations/privacy.ts";
import { createScrubber } from "../operations/scrubber.ts";
import { createRestClient, type RestClient } from "../operations/rest-client.ts";
import { createRedactor, secretsOf } from "../operations/secrets.ts";
import { createHandling, type Handling } from "./handling.ts";
import type { Handler } from "./handler.ts";
import { createWorkerId } from "./handlers-process.ts";
import { checkNames } from "./handlers-module.ts";
import { jobHandler, type PolicyDefaults } from "./policies.ts";

const RETENTION_INTERVAL_MS = 3_600_000;
const DAY_MS = 86_400_000;

export type Loop = Processor & Pick<Handling, "blame">;

type LoopOptions = {
  engine: Engine;
  handlers: readonly Handler[];
  services?: unknown;
  defaults: PolicyDefaults & { maximumAgeMs: number };
  clock: Clock;
  random?: () => number;
  log: Log;
  api?: RestClient | undefined;
  /** Taken out of what handlers throw, before it is kept. */
  secrets?: readonly string[];
  /** Unique among all workers there ever were; made where none is given. */
  workerId?: string;
  predecessors?: readonly string[];
  only?: ProcessOptions["only"];
  onHandled: (handled: Handled) => void;
  /** A handler goes on past its deadline and ignores its signal; only the end of the process helps. */
  onStuck: (job: FailedJob) => void;
};

/**
 * Has `handlers` handle the engine's jobs in this process, by the policies that each has of its own or else the
 * environment's. Throws where two of them have one name.
 */
export async function startLoop(options: LoopOptions): Promise<Loop> {
  const { handlers, defaults, log, random = Math.random, workerId = createWorkerId() } = options;
  checkNames(handlers);
  const redact = createRedactor(options.secrets ?? []);
  const clean = (text: string, body: string): string => createScrubber(body).text(redact(text));
  const { handle, blame } = createHandling({ ...options, clean });
  const processor = await options.engine.work.process({
    handlers: handlers.map((handler) => jobHandler(handler, { defaults, random, clean })),
    handle,
    workerId,
    predecessors: options.predecessors,
    concurrency: defaults.workerConcurrency,
    only: options.only,
    onHandled: options.onHandled,
    onTrouble: (error) =>
      log.error({ err: error }, "the background loop could not reach its database; it goes on trying"),
  });
  return { ...processor, blame };
}

/** The line of an attempt. */
export function logHandled(log: Log, handled: Handled): void {
  const { id, handler, type, attempt, outcome, durationMs, error } = handled;
  const fields = {
    event_id: id,
    handler,
    type: knownType(type),
    attempt,
    outcome,
    duration_ms: Math.round(durationMs),
    ...(error === undefined ? {} : { error }),
  };
  if (outcome === "done") log.info(fields, "handled");
  else if (outcome === "later") log.info(fields, "put off by its handler");
  else if (outcome === "failed") log.warn(fields, "handling failed; it will be tried again");
  else if (outcome === "lost") log.warn(fields, "the claim was lost; another worker has the job");
  else log.error(fields, "dead: requeue it once the cause is mended");
}

export type Working = {
  loop: Loop;
  /** Drains the loop, then closes the database. */
  stop: (graceMs: number, failed?: readonly FailedJob[]) => Promise<void>;
};

/** Runs the loop, and once an hour deletes what was kept long enough. Closes the engine when the work stops. */
export async function startWorking(
  options: Omit<LoopOptions, "defaults" | "clock" | "random" | "api" | "secrets" | "only"> & {
    config: Config;
  },
): Promise<Working> {
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
