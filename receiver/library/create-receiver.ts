import { z } from "zod";
import { eventIdSchema } from "../../shared/events.ts";
import { systemClock } from "../clock.ts";
import { compose } from "../compose.ts";
import { loadConfig } from "../config.ts";
import type { InboxEvent } from "../engine.ts";
import { filesOf, openConfigured } from "../engines/open.ts";
import type { Middleware } from "../intake/adapters.ts";
import type { Readiness } from "../operations/health.ts";
import { createLog } from "../operations/log.ts";
import { protectFiles } from "../operations/private-files.ts";
import { secretsOf } from "../operations/secrets.ts";
import type { Handler } from "../work/handler.ts";
import { handlerSchema } from "../work/handlers-module.ts";
import { createFetch, type Fetch } from "./fetch.ts";
import { environmentOf, type Settings } from "./settings.ts";
import { workHere } from "./work-here.ts";

export type ReceiverOptions = Settings & {
  /**
   * What happens with events. A module that exports `handlers`, such as `new URL("./handlers.ts", import.meta.url)`: they
   * run in a process of their own, and whatever they do, events go on being acknowledged. Or an array: they run in this
   * process, and one that blocks, crashes or fills the memory takes your app with it. Left out, events are only stored:
   * `voice-agent-receiver start` with RECEIVER_ROLE=worker handles them elsewhere.
   */
  handlers?: URL | readonly Handler[];
  /** Where the receiver's lines of the log go, each of them JSON. To standard output unless given, as a handlers' process always does. */
  logTo?: (line: string) => void;
};

const handlersSchema = z.union([z.instanceof(URL), z.array(handlerSchema)]).optional();

/** A receiver inside an app of yours. */
export type MountedReceiver = {
  /** For node:http, Connect, Express 4 and 5: `app.post("/webhooks", receiver.middleware)`, before any body parser. */
  middleware: Middleware;
  /** From `Request` to `Response`: Hono, route handlers of Next.js. */
  fetch: Fetch;
  /** Whether events can be taken now, and what was looked at. */
  health: () => Promise<Readiness>;
  /**
   * An event by its id: its state, how often it was handled, and each handler's job with its last error.
   * Undefined for an event that was not accepted here.
   */
  event: (id: string) => Promise<InboxEvent | undefined>;
  /** For Prometheus. */
  metrics: () => Promise<{ contentType: string; body: string }>;
  /**
   * Takes nothing more (503), finishes what is running within SHUTDOWN_TIMEOUT_SECONDS, and closes the database. Call it
   * when your server has been told to close.
   */
  stop: () => Promise<void>;
};

/**
 * Starts a receiver inside this process: no port, no signal handlers, and any number of them side by side. Options other than
 * `handlers` and `logTo` are settings of docs/operations.md in camelCase, with the environment's variables as defaults.
 * Rejects with what to change when it cannot start.
 */
export async function createReceiver(options: ReceiverOptions = {}): Promise<MountedReceiver> {
  const { handlers, logTo, ...settings } = options;
  if (!handlersSchema.safeParse(handlers).success)
    throw new TypeError(
      'createReceiver(): handlers must be the URL of a module, such as new URL("./handlers.mjs", import.meta.url), or a list of what defineHandler() made.',
    );
  if (logTo !== undefined && typeof logTo !== "function")
    throw new TypeError("createReceiver(): logTo must be a function that takes a line of the log.");
  const role = settings.role === undefined && handlers === undefined ? "ingest" : settings.role;
  const environment = environmentOf({ ...settings, role }, process.env);
  const loaded = loadConfig(environment);
  if (!loaded.ok) throw new Error(`createReceiver(): ${loaded.problems.join(" ")}`);
  const { config } = loaded;
  if (config.role !== "ingest" && handlers === undefined)
    throw new Error(`createReceiver(): the role "${config.role}" handles events: give it \`handlers\`.`);

  const log = createLog({
    level: config.logLevel,
    secrets: secretsOf(config),
    ...(logTo && { destination: { write: logTo } }),
  });
  protectFiles(await filesOf(config), log);
  const engine = await openConfigured(config);
  const clock = systemClock;
  const work =
    handlers instanceof URL ? { handlersModule: handlers } : handlers && { startWork: workHere(handlers) };
  const receiver = await compose({ config, engine, clock, log, environment, ...work }).catch(
    // The app may well try again, at each request even.
    async (error: unknown) => {
      await engine.close();
      throw error;
    },
  );

  let stopped: Promise<void> | undefined;
  return {
    middleware: receiver.middleware,
    fetch: createFetch(receiver.webhook, receiver.body),
    health: receiver.health.readiness,
    event: async (id) => (eventIdSchema.safeParse(id).success ? engine.ledger.find(id) : undefined),
    metrics: receiver.metrics.text,
    stop: () => (stopped ??= receiver.drain().then(receiver.close)),
  };
}
