import { existsSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Express } from "express";
import { z } from "zod";
import { eventIdSchema } from "../../shared/events.ts";
import { systemClock as clock } from "../clock.ts";
import { compose, type Work } from "../compose.ts";
import { loadConfig, type Config } from "../config.ts";
import type { Middleware } from "../intake/adapters.ts";
import type { Readiness } from "../operations/health.ts";
import { createLog, type Log } from "../operations/log.ts";
import type { Metrics } from "../operations/metrics.ts";
import { createCleaner, secretsOf } from "../operations/privacy.ts";
import { createRestClient } from "../operations/rest-client.ts";
import { superviseHandlers } from "../receiver.ts";
import { openStore } from "../store/open.ts";
import type { InboxEvent, Store } from "../store/port.ts";
import type { OnDead } from "../work/attempt.ts";
import type { CreateServices, Handler, HandlerNeeding } from "../work/handler.ts";
import { logEnded } from "../work/messages.ts";
import { startRetention } from "../work/retention.ts";
import { startWorker } from "../work/worker.ts";
import { createFetch, type Fetch } from "./fetch.ts";
import { environmentOf, type Settings } from "./settings.ts";

export type ReceiverOptions<Services = unknown> = (HandlersAlone | HandlersWithServices<Services>) & Common;

type HandlersAlone = {
  /**
   * What happens with events. The URL of a module that exports `handlers`: they run in a process of their own, and events go
   * on being acknowledged if one blocks or crashes it; in development a change of its files starts that process anew. Or a
   * list: they run in this process, and take it with them. Left out, events are only stored, for a worker elsewhere.
   */
  handlers?: URL | readonly HandlerNeeding<unknown>[];
  createServices?: undefined;
};

type HandlersWithServices<Services> = {
  handlers: readonly HandlerNeeding<Services>[];
  /** Makes the services of handlers that are given as a list; a module exports its own. */
  createServices: CreateServices<Services>;
};

type Common = Settings & {
  /** Called at least once for each dead job of handlers that are given as a list; a module exports its own. */
  onDead?: OnDead;
  /** Who may use the operator's page: asked before each of its answers. Without it the page is closed. */
  operatorGuard?: (request: IncomingMessage) => boolean | Promise<boolean>;
  /** Where the receiver's lines of the log go, each of them JSON; standard output by default. */
  logTo?: (line: string) => void;
  /** With `databaseUrl: "postgres://…"`: the app's own `Pool` of the package `pg`, which stays the app's to end. */
  pool?: object;
};

/** A receiver inside an app of yours. */
export type MountedReceiver = {
  /** For node:http, Connect, Express 4 and 5: `app.post("/webhooks", receiver.middleware)`, before any body parser. */
  middleware: Middleware;
  /** From `Request` to `Response`: Hono, route handlers of Next.js. */
  fetch: Fetch;
  /** The operator's page, at a path of your app: `app.use("/operator", receiver.operator)`. Closed without `operatorGuard`. */
  operator: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** Whether events can be taken now, and what was checked. */
  health: () => Promise<Readiness>;
  /** An event by its id, with each handler's job; undefined if it was not accepted here. */
  event: (id: string) => Promise<InboxEvent | undefined>;
  /** What `verify --observe` reads of an event, as JSON. */
  handled: (id: string) => Promise<{ handled: number; state?: string; deferred_until?: string }>;
  /** For Prometheus. */
  metrics: () => Promise<{ contentType: string; body: string }>;
  /** Takes nothing more (503), finishes what runs within SHUTDOWN_TIMEOUT_SECONDS, and closes the database. */
  stop: () => Promise<void>;
};

/**
 * Starts a receiver inside this process: no port, no signal handlers, and any number of them side by side. Other options are
 * settings of docs/operations.md in camelCase, with the environment's variables as defaults, but for DATABASE_URL, PORT and
 * HOST, which are the app's. Rejects with what to change if it cannot start.
 */
export async function createReceiver<Services = unknown>(
  options: ReceiverOptions<Services> = {},
): Promise<MountedReceiver> {
  const { handlers, createServices, onDead, logTo, operatorGuard, pool, ...settings } = options;
  if (handlers !== undefined && !(handlers instanceof URL) && !isList(handlers))
    throw new TypeError(
      'createReceiver(): handlers must be the URL of a module, such as new URL("./handlers.ts", import.meta.url), or a list of what defineHandler() returned.',
    );
  if (logTo !== undefined && typeof logTo !== "function")
    throw new TypeError("createReceiver(): logTo must be a function that takes a line of the log.");
  const handlersModule = handlers instanceof URL ? existingModule(handlers) : undefined;
  const environment = environmentOf(settings, process.env);
  if (handlers === undefined && settings.role === undefined) environment["RECEIVER_ROLE"] = "ingest";
  const loaded = loadConfig(environment);
  if (!loaded.ok) throw new Error(`createReceiver(): ${loaded.problems.join(" ")}`);
  const { config } = loaded;
  const log = createLog({
    level: config.logLevel,
    secrets: secretsOf(config),
    ...(logTo && { destination: { write: logTo } }),
  });
  const store = await openStore({
    ...config,
    clock,
    pool,
    isWorker: isList(handlers),
    onFatal: (problem) => {
      log.fatal({ problem }, "stored events may be lost: this process ends");
      log.flush(() => process.exit(1));
    },
  });
  const startWork = async (metrics: Metrics): Promise<Work> => {
    if (isList(handlers)) return workHere(handlers, { config, store, log, metrics, createServices, onDead });
    if (handlersModule) {
      const watchHandlers = isInDevelopment(environment);
      const given = { config, store, clock, log, metrics, handlersModule, watchHandlers };
      return superviseHandlers({ ...given, environment: () => environment });
    }
    throw new Error(`createReceiver(): the role "${config.role}" handles events: give it \`handlers\`.`);
  };
  const receiver = await compose({ config, store, clock, log, startWork }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const createPage = async (): Promise<Express> => {
    const { createOperatorPage } = await import("../operations/page/index.ts");
    const guard = operatorGuard ?? (() => false);
    return createOperatorPage({ ...receiver, ledger: store.ledger, log, clock, showBodies: false, guard });
  };
  const event = async (id: string): Promise<InboxEvent | undefined> =>
    eventIdSchema.safeParse(id).success ? store.ledger.find(id) : undefined;
  let page: Promise<Express> | undefined;
  let stopped: Promise<void> | undefined;
  return {
    middleware: receiver.middleware,
    fetch: createFetch(receiver.webhook, receiver.body),
    operator: async (request, response) => void (await (page ??= createPage()))(request, response),
    health: receiver.health.readiness,
    event,
    handled: async (id) => {
      const found = await event(id);
      if (!found) return { handled: 0 };
      const { handled, state, deferredUntilMs: laterMs } = found;
      return { handled, state, ...(laterMs !== null && { deferred_until: new Date(laterMs).toISOString() }) };
    },
    metrics: receiver.metrics.text,
    stop: () => (stopped ??= receiver.drain().then(receiver.close)),
  };
}

/** The module's file, or the TypeScript of that name: test runners run sources whose addresses name what is built of them. */
function existingModule(url: URL): URL {
  const source = new URL(url.href.replace(/\.([cm]?)js$/, ".$1ts"));
  const found = [url, source].find((one) => one.protocol === "file:" && existsSync(one));
  if (found) return found;
  throw new Error(
    `createReceiver(): there is no file ${url.href}. Give the URL of the module with your handlers: new URL("./handlers.js", import.meta.url).`,
  );
}

/** Whether this app is started anew by `next dev`, `tsx watch` or `node --watch`, which do not see the handlers' files. */
function isInDevelopment({ NODE_ENV, WATCH_REPORT_DEPENDENCIES }: NodeJS.ProcessEnv): boolean {
  const isUnderTsx = process.execArgv.some((word) => /[/\\]tsx[/\\]/.test(word));
  return NODE_ENV === "development" || WATCH_REPORT_DEPENDENCIES !== undefined || isUnderTsx;
}

/** What `defineHandler` returns. */
const handlerSchema = z.object({ name: z.string(), parse: z.function() });

/** How long a start waits for handlers in this process. */
const BEGINNING_MS = 1_000;

function isList(handlers: unknown): handlers is readonly Handler[] {
  return z.array(handlerSchema).safeParse(handlers).success;
}

/** Handles jobs in this process. Nothing replaces a handler that blocks it, crashes it or ignores its deadline. */
async function workHere(
  handlers: readonly Handler[],
  options: {
    config: Config;
    store: Store;
    log: Log;
    metrics: Metrics;
    createServices: CreateServices | undefined;
    onDead: OnDead | undefined;
  },
): Promise<Work> {
  const { config, store, log, metrics, onDead } = options;
  const created = await options.createServices?.();
  const stopping = new AbortController();
  const worker = startWorker({
    store,
    handlers,
    config,
    clock,
    log,
    random: Math.random,
    services: created?.services,
    onDead,
    clean: createCleaner(secretsOf(config)),
    api: config.api && createRestClient(config.api),
    signal: stopping.signal,
    onEnded: (ended) => {
      logEnded(log, ended);
      metrics.handled([ended]);
    },
    onStuck: ({ handler, id }) =>
      log.error(
        { handler, event_id: id },
        "a handler ignores its deadline; only the end of this process would end it",
      ),
  });
  let state: "starting" | "working" = "starting";
  const begun = worker.then(() => void (state = "working"));
  // A migration that fails rejects here. While another worker has to end first, events are taken all the same.
  await Promise.race([begun, clock.sleep(BEGINNING_MS, stopping.signal)]);
  begun.catch((error: unknown) => log.error({ err: error }, "the handlers cannot be started"));
  const stopRetention = startRetention({ ledger: store.ledger, config, clock, log });
  return {
    wake: () =>
      void worker.then(
        ({ wake }) => wake(),
        () => undefined,
      ),
    status: () => ({ state }),
    stop: async (graceMs) => {
      stopRetention();
      stopping.abort(new Error("stopped"));
      await worker.then(async ({ drain }) => drain(graceMs)).catch(() => undefined);
      await created?.close?.();
    },
  };
}
