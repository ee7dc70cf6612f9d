import { existsSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { ROLES } from "../config.ts";
import type { OnDead } from "../work/attempt.ts";
import type { CreateServices, HandlerNeeding } from "../work/handler.ts";
import { functionOf, handlersSchema } from "../work/module.ts";

const HANDLERS_RULE =
  'must be the URL of a module, such as new URL("./handlers.js", import.meta.url), or a list of what defineHandler() returned';
const SECRETS_RULE = 'must be a list of secrets without commas, such as ["whsec_…"]';
const LIST_RULE =
  "`createServices` and `onDead` are options of handlers that are passed as a list; a module exports its own";
const POOL_RULE = 'is used with PostgreSQL only: name its database in `databaseUrl: "postgres://…"`';
const secret = z.string(SECRETS_RULE).regex(/^[^,]*$/, SECRETS_RULE);

const fieldsSchema = z.strictObject({
  handlers: z.union([z.instanceof(URL), handlersSchema.readonly()], HANDLERS_RULE).optional(),
  createServices: functionOf<CreateServices>().optional(),
  /** Called at least once for each dead job of handlers that are passed as a list; a module exports its own. */
  onDead: functionOf<OnDead>().optional(),
  /** Who may use the operator's page: called before each of its answers. Without it the page is closed. */
  operatorGuard: functionOf<(request: IncomingMessage) => boolean | Promise<boolean>>().optional(),
  /** Gets each log line: JSON and a line break, as for `process.stdout.write`. Default: standard output. */
  logTo: functionOf<(line: string) => void>().optional(),
  /** With `databaseUrl: "postgres://…"`: the app's own `Pool` of the package `pg`. The app must end it. */
  pool: z.custom<object>().optional(),
  /** Several during a rotation. Default: SIGNING_SECRET, or the file named by SIGNING_SECRET_FILE. */
  signingSecrets: z.array(secret, SECRETS_RULE).readonly().optional(),
  /** `sqlite:data/receiver.db` (the default) or `postgres://…`. The app's DATABASE_URL is not used. */
  databaseUrl: z.string().regex(/\S/, "must name a database").optional(),
  /** Whether it takes events, handles them, or both. Default: RECEIVER_ROLE, and `ingest` without handlers. */
  role: z.enum(ROLES).optional(),
  /** Other settings of docs/operations.md in place of the process's, such as `{ MAX_ATTEMPTS: "3" }`. */
  environment: z.record(z.string(), z.string().optional()).optional(),
});
// Otherwise they would be ignored, and events would be stored elsewhere or their deaths not reported.
const optionsSchema = fieldsSchema
  .refine(({ handlers, createServices, onDead }) => Array.isArray(handlers) || !(createServices ?? onDead), {
    path: ["handlers"],
    error: LIST_RULE,
  })
  .refine(({ pool, databaseUrl }) => !pool || databaseUrl?.startsWith("postgres"), {
    path: ["pool"],
    error: POOL_RULE,
  });

/** Settings default to the variables of docs/operations.md. */
export type ReceiverOptions<Services = unknown> = Omit<Options, "handlers" | "createServices"> &
  (HandlersAlone | HandlersWithServices<Services>);
type Options = z.input<typeof optionsSchema>;

type HandlersAlone = {
  /**
   * The handlers. Either the URL of a module that exports `handlers`: they run in their own process, so events are still
   * acknowledged if one blocks or crashes it; in development a change of its files restarts that process. Or a list: they run
   * in this process and can block or crash it. Without handlers, events are only stored, for a worker elsewhere.
   */
  handlers?: URL | readonly HandlerNeeding<unknown>[];
  createServices?: undefined;
};
type HandlersWithServices<Services> = {
  handlers: readonly HandlerNeeding<Services>[];
  /** Creates the services of handlers that are passed as a list; a module exports its own. */
  createServices: CreateServices<Services>;
};

/**
 * Returns the options, with the settings among them in one environment. Throws if options are wrong, without quoting their
 * values, since one may be secret.
 */
export function readOptions(options: object, ofTheProcess: NodeJS.ProcessEnv) {
  const { success, data, error } = optionsSchema.safeParse(options);
  if (!success) {
    const problems = error.issues.map(({ path, message }) => `${String(path[0] ?? "options")}: ${message}`);
    const hint = error.issues.some(({ code }) => code.startsWith("invalid")) ? " Is its variable set?" : "";
    throw new TypeError(`createReceiver(): ${problems.join("; ")}.${hint}`);
  }
  const { handlers: given, signingSecrets, databaseUrl, role, environment, ...own } = data;
  const handlers = given instanceof URL ? existingModule(given) : given;
  const settings: NodeJS.ProcessEnv = { ...ofTheProcess, ...environment };
  if (!handlers) settings["RECEIVER_ROLE"] = "ingest";
  if (role) settings["RECEIVER_ROLE"] = role;
  if (signingSecrets) settings["SIGNING_SECRET"] = signingSecrets.join(",");
  if (signingSecrets) settings["SIGNING_SECRET_FILE"] = undefined;
  // The process's own belong to the app around the receiver.
  const notOfTheApp = { DATABASE_URL: databaseUrl, PORT: undefined, HOST: undefined };
  return { ...own, handlers, environment: { ...settings, ...notOfTheApp } };
}

/** The module's file, or the TypeScript file of that name: test runners run sources whose URLs name the built files. */
function existingModule(url: URL): URL {
  const source = new URL(url.href.replace(/\.([cm]?)js$/, ".$1ts"));
  const found = [url, source].find((one) => one.protocol === "file:" && existsSync(one));
  if (found) return found;
  throw new Error(`createReceiver(): handlers: there is no file ${url.href}. It ${HANDLERS_RULE}.`);
}
