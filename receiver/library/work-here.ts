import { within } from "../clock.ts";
import type { Supervisor } from "../work/supervisor.ts";
import type { Config } from "../config.ts";
import type { Metrics } from "../operations/metrics.ts";
import { createCleaner, secretsOf } from "../operations/present.ts";
import { createRestClient } from "../operations/rest-client.ts";
import type { Store } from "../store/port.ts";
import type { CreateServices } from "../work/handler.ts";
import { logEnded } from "../work/messages.ts";
import { startWorker, type Worker, type WorkerOptions } from "../work/worker.ts";

/** How long a start waits for the handlers. While another worker has yet to end, events are already taken. */
const BEGINNING_MS = 1_000;

type Here = Pick<WorkerOptions, "handlers" | "clock" | "log" | "onDead"> & {
  config: Config;
  store: Store;
  metrics: Metrics;
  createServices?: CreateServices | undefined;
};

/** Handles jobs in this process. Nothing replaces the process if a handler blocks it, crashes it or ignores its deadline. */
export async function workHere({ metrics, createServices, ...parts }: Here): Promise<Supervisor> {
  const { config, clock, log } = parts;
  const created = await createServices?.();
  const stopping = new AbortController();
  let worker: Worker | undefined;
  const beginning = startWorker({
    ...parts,
    random: Math.random,
    services: created?.services,
    clean: createCleaner(secretsOf(config)),
    api: config.api && createRestClient(config.api),
    signal: stopping.signal,
    onEnded: (ended) => {
      logEnded(log, ended);
      metrics.handled([ended]);
    },
    onStuck: ({ handler, id: event_id }) =>
      log.error(
        { handler, event_id },
        "a handler ignores its deadline; only a restart of this process can end it",
      ),
  }).then((begun) => (worker = begun));
  // Rejects if a migration fails.
  await within(BEGINNING_MS, beginning, clock);
  beginning.catch((err: unknown) => log.error({ err }, "the handlers cannot be started"));
  return {
    wake: () => worker?.wake(),
    status: () => ({ state: worker ? "working" : "starting" }),
    stop: async (graceMs) => {
      stopping.abort(new Error("stopped"));
      await beginning.then(async ({ drain }) => drain(graceMs)).catch(() => undefined);
      await created?.close?.();
    },
  };
}
