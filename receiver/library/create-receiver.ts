import type { IncomingMessage, ServerResponse } from "node:http";
import { eventIdSchema } from "../../shared/events.ts";
import { systemClock as clock, within } from "../clock.ts";
import { loadConfig, type Config } from "../config.ts";
import { createLog } from "../operations/log.ts";
import type { Metrics } from "../operations/metrics.ts";
import { createOperatorPage } from "../operations/page/index.ts";
import { createCleaner, secretsOf } from "../operations/present.ts";
import { createRestClient } from "../operations/rest-client.ts";
import { compose, superviseHandlers } from "../receiver.ts";
import { openStore } from "../store/open.ts";
import { createFetch } from "./fetch.ts";
import { readOptions, type ReceiverOptions } from "./options.ts";
import type { Supervisor } from "../work/supervisor.ts";
import type { CreateServices } from "../work/handler.ts";
import { logEnded } from "../work/messages.ts";
import { startWorker, type Worker, type WorkerOptions } from "../work/worker.ts";

/** A receiver mounted in an app. */
export type MountedReceiver = Awaited<ReturnType<typeof createReceiver>>;

/**
 * Starts a receiver inside this process: no port, no signal handlers, and any number of them side by side. If it cannot
 * start, it rejects and says what to change.
 */
export async function createReceiver<Services = unknown>(options: ReceiverOptions<Services> = {}) {
  const read = readOptions(options, process.env);
  const { environment, handlers, operatorGuard: guard = () => false, logTo: givenLog, pool, ...own } = read;
  const loaded = loadConfig(environment);
  if (!loaded.ok) throw new Error(`createReceiver(): ${loaded.problems.join(" ")}`);
  const { config } = loaded;
  const logTo = givenLog && printFailures(givenLog);
  const destination = logTo && { destination: { write: logTo } };
  const log = createLog({ level: config.logLevel, secrets: secretsOf(config), ...destination });
  const isWorker = config.role !== "ingest" && handlers !== undefined && !(handlers instanceof URL);
  const onFatal = (problem: string): void => {
    log.fatal({ problem }, "stored events may be lost: this process ends");
    log.flush(() => process.exit(1));
  };
  const store = await openStore({ ...config, clock, pool, isWorker, onFatal });
  const startWork = async (metrics: Metrics): Promise<Supervisor> => {
    const parts = { config, store, clock, log, metrics, environment: () => environment };
    if (handlers === undefined)
      throw new Error(`createReceiver(): the role "${config.role}" handles events: give it \`handlers\`.`);
    if (!(handlers instanceof URL)) return workHere({ ...parts, ...own, handlers });
    const watchHandlers = isInDevelopment(environment);
    // Lines that handlers print are not of the log.
    const onLine = logTo && ((line: string) => (LOGGED.test(line) ? logTo(`${line}\n`) : console.log(line)));
    return superviseHandlers({ ...parts, handlersModule: handlers, watchHandlers, onLine });
  };
  const receiver = await compose({ config, store, clock, log, startWork }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const page = createOperatorPage({ ...receiver, ledger: store.ledger, log, clock, guard });
  const event = async (id: string) =>
    eventIdSchema.safeParse(id).success ? store.ledger.find(id) : undefined;
  let stopped: Promise<void> | undefined;
  return {
    /** For node:http, Connect, Express 4 and 5: `app.post("/webhooks", receiver.middleware)`, before any body parser. */
    middleware: receiver.middleware,
    /** From `Request` to `Response`: Hono, route handlers of Next.js. */
    fetch: createFetch(receiver.webhook, receiver.body),
    /** The operator's page: `app.use("/operator", receiver.operator)`. Closed without `operatorGuard`. */
    operator: (request: IncomingMessage, response: ServerResponse): void => void page(request, response),
    /** Whether it can take events now, and the result of each check. */
    health: receiver.health.readiness,
    /** An event by its id, with the job of each handler; undefined if it was not accepted here. */
    event,
    /** The JSON that `verify --observe` reads for an event. */
    handled: async (id: string): Promise<{ handled: number; state?: string; deferred_until?: string }> => {
      const { handled = 0, state, deferredUntilMs: ms } = (await event(id)) ?? {};
      return { handled, ...(state && { state }), ...(ms && { deferred_until: new Date(ms).toISOString() }) };
    },
    /** Metrics in Prometheus's text format. */
    metrics: receiver.metrics.text,
    /** Refuses new events (503), finishes running work within SHUTDOWN_TIMEOUT_SECONDS, and closes the database. */
    stop: (): Promise<void> => (stopped ??= receiver.drain().then(receiver.close)),
  };
}

/** A log that fails neither rejects a request nor ends the app: what it throws is printed. */
function printFailures(logTo: (line: string) => void): (line: string) => void {
  return (line) => {
    try {
      logTo(line);
    } catch (error) {
      console.error("logTo failed:", error);
    }
  };
}

/** A line of the log of the handlers' process. */
const LOGGED = /^\{"level":".*\}$/;

/** How long a start waits for the handlers. While another worker has yet to end, events are already taken. */
const BEGINNING_MS = 1_000;

/** Handles jobs in this process. Nothing replaces the process if a handler blocks it, crashes it or ignores its deadline. */
async function workHere({
  metrics,
  createServices,
  ...parts
}: Pick<WorkerOptions, "handlers" | "onDead" | "store" | "log" | "clock"> & {
  config: Config;
  metrics: Metrics;
  createServices?: CreateServices | undefined;
}): Promise<Supervisor> {
  const { config, log } = parts;
  const created = await createServices?.();
  const stopping = new AbortController();
  let worker: Worker | undefined;
  let problem: string | undefined;
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
    onStuck: ({ handler, id: event_id }) => {
      problem = "a handler ignores its deadline: no job is handled until this process is restarted";
      log.error({ handler, event_id }, problem);
    },
  }).then((begun) => (worker = begun));
  // Rejects if a migration fails.
  await within(BEGINNING_MS, beginning, clock).catch(async (error: unknown) => {
    await created?.close?.();
    throw error;
  });
  beginning.catch((err: unknown) => {
    if (!stopping.signal.aborted) log.error({ err }, "the handlers cannot be started");
  });
  return {
    wake: () => worker?.wake(),
    status: () => (problem ? { state: "broken", problem } : { state: worker ? "working" : "starting" }),
    stop: async (graceMs) => {
      stopping.abort(new Error("stopped"));
      await beginning.then(async ({ drain }) => drain(graceMs)).catch(() => undefined);
      await created?.close?.();
    },
  };
}

/** Whether `next dev`, `tsx watch` or `node --watch` restarts this app: they do not watch the handlers' files. */
function isInDevelopment({ NODE_ENV, WATCH_REPORT_DEPENDENCIES }: NodeJS.ProcessEnv): boolean {
  const isUnderTsx = process.execArgv.some((word) => /[/\\]tsx[/\\]/.test(word));
  return NODE_ENV === "development" || WATCH_REPORT_DEPENDENCIES !== undefined || isUnderTsx;
}
