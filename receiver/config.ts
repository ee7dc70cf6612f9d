import { readFileSync, statSync } from "node:fs";
import { isIPv4 } from "node:net";
import { parseEnv } from "node:util";
import { z } from "zod";
import { decodeText } from "../shared/text.ts";

/** Every setting of the receiver, read once at the start. docs/operations.md has a line for each variable. */
export type Config = z.output<typeof configSchema>;

export type Environment = Readonly<Record<string, string | undefined>>;

export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: string[] };

const LONGEST_FILE_BYTES = 65_536;
export const ROLES = ["all", "ingest", "worker"] as const;
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
const SECRETS = ["SIGNING_SECRET", "API_KEY", "ADMIN_TOKEN"];

/**
 * Reads the configuration from environment variables. Returns all mistakes at once, one line each, with the variable, the
 * rule and the fix. An empty variable counts as absent. `SIGNING_SECRET`, `API_KEY` and `ADMIN_TOKEN` may also be in a file
 * that `…_FILE` names. `needsSecret` says whether a missing signing secret is a mistake.
 */
export function loadConfig(
  environment: Environment,
  { needsSecret = environment["RECEIVER_ROLE"] !== "worker" } = {},
): ConfigResult {
  const problems: string[] = [];
  const given = withSecretsFromFiles(environment, problems);
  const parsed = configSchema.safeParse(given);
  for (const { path, message } of parsed.error?.issues ?? []) problems.push(`${path.join(".")}: ${message}`);
  const has = (name: string): boolean =>
    given[name] !== undefined || problems.some((problem) => problem.startsWith(`${name}_FILE`));
  if (needsSecret && !has("SIGNING_SECRET")) problems.push(`SIGNING_SECRET: ${NO_SECRET}`);
  if (has("API_KEY") !== has("API_BASE_URL"))
    problems.push("API_BASE_URL: the REST API needs API_BASE_URL and API_KEY. Set both or neither.");
  const adminHost = given["ADMIN_HOST"] ?? "127.0.0.1";
  if (!isLoopback(adminHost.trim()) && !has("ADMIN_TOKEN"))
    problems.push(`ADMIN_HOST: ${adminHost} ${OPEN_ADMIN}`);
  if (parsed.data && parsed.data.retentionDays > parsed.data.idRetentionDays)
    problems.push("ID_RETENTION_DAYS: must be at least RETENTION_DAYS: an event's id outlives its body.");
  if (problems.length > 0 || !parsed.success) return { ok: false, problems: problems.toSorted() };
  return { ok: true, config: parsed.data };
}

const NO_SECRET =
  "is missing. Set it to the signing secret that the dashboard showed when the endpoint was registered, or name a file that holds it in SIGNING_SECRET_FILE.";
const OPEN_ADMIN =
  "lets other machines read the inbox. Set ADMIN_TOKEN to what they have to show, or leave ADMIN_HOST out.";

/**
 * The environment, and beneath it what the file `.env` of this folder says, if there is one; /dev/null counts as none. Throws
 * why it cannot be read.
 */
export function readEnvironment(environment: Environment, file = ".env"): Environment {
  const found = statSync(file, { throwIfNoEntry: false });
  const isEmpty = !found || found.isCharacterDevice() || (found.isFile() && found.size === 0);
  return isEmpty ? environment : { ...parseEnv(readSmallFile(file)), ...environment };
}

function withSecretsFromFiles(environment: Environment, problems: string[]): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment))
    if (value !== undefined && value !== "") given[name] = value;
  for (const name of SECRETS) {
    const file = given[`${name}_FILE`];
    if (file === undefined) continue;
    try {
      if (given[name] !== undefined) throw new Error(`is set beside ${name}. Remove one of them.`);
      // Editors and `echo` end a file with a line break, which is no part of the secret.
      const secret = readSmallFile(file).replace(/\r?\n$/, "");
      if (secret === "") throw new Error(`${file} holds no secret. Put it in.`);
      given[name] = secret;
    } catch (error) {
      problems.push(`${name}_FILE: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return given;
}

/** The text of a regular file. A pipe, a device and a file of /proc may have no end: they are refused. */
function readSmallFile(file: string): string {
  const stats = statSync(file);
  if (!stats.isFile() || stats.size === 0 || stats.size > LONGEST_FILE_BYTES)
    throw new Error(`${file} is no file of 1 to ${String(LONGEST_FILE_BYTES)} bytes. Name the right file.`);
  const decoded = decodeText(readFileSync(file), file);
  if (!decoded.ok) throw new Error(decoded.message);
  return decoded.text;
}

/** A whole number within bounds. */
function integer(fallback: number, minimum: number, maximum: number) {
  const rule = `must be a whole number from ${String(minimum)} to ${String(maximum)}`;
  return z
    .string()
    .transform((text, context) => {
      const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
      if (value >= minimum && value <= maximum) return value;
      context.addIssue(`${rule}, not "${text}". Leave it out for ${String(fallback)}.`);
      return z.NEVER;
    })
    .default(fallback);
}

function choice<const Choices extends readonly string[]>(choices: Choices, fallback: Choices[number]) {
  const error = ({ input }: { input?: unknown }): string =>
    `must be one of ${choices.join(", ")}, not "${String(input)}".`;
  return z.enum(choices, { error }).default(fallback);
}

function text(pattern: RegExp, rule: string) {
  return z.string().regex(pattern, rule);
}

const host = text(/^\S+$/, "contains white space. Remove it.").default("127.0.0.1");
const TOKEN_RULE = "must have at least 16 characters and no white space. Make one with: openssl rand -hex 24";

const signingSecrets = z.string().transform((text, context) => {
  const secrets = text.split(",");
  for (const [index, secret] of secrets.entries()) {
    const which = `secret ${String(index + 1)} of ${String(secrets.length)}`;
    if (secret === "") context.addIssue(`${which} is empty. Remove the stray comma.`);
    else if (/\s|\p{C}|\uFFFD|^(["']).*\1$/u.test(secret))
      context.addIssue(
        `${which} contains white space, or what cannot be seen, or stands in quotes. Remove it.`,
      );
  }
  return secrets;
});

const DATABASE_FORMS =
  "must name a file on a local disk, such as sqlite:data/receiver.db or sqlite:/var/lib/receiver.db, or a database such as postgres://host/receiver.";

/** A file for SQLite, or the address of a PostgreSQL database; the other is undefined. */
const databaseUrl = z
  .string()
  .default("sqlite:data/receiver.db")
  .transform((given, context): { databaseFile: string | undefined; databaseUrl: string | undefined } => {
    const url = given.trim();
    if (/^postgres(ql)?:/.test(url)) {
      if (isDecodable(url)) return { databaseUrl: url, databaseFile: undefined };
      context.addIssue("is no address such as postgres://host:5432/db. In passwords, / is %2F and @ is %40.");
      return z.NEVER;
    }
    const [, slashes = "", file = ""] = /^sqlite:(\/\/(?!\/))?(?:\/\/(?=\/))?(.*)$/.exec(url) ?? [];
    const plain = file
      .trim()
      .replace(/^file:/, "")
      .replace(/\?.*$/, "");
    if (slashes !== "" || plain !== file.trim())
      context.addIssue(`takes a file and nothing else. Write sqlite:${plain}`);
    else if (plain.startsWith("~"))
      context.addIssue("begins with ~, which only a shell knows. Write the whole path.");
    else if (plain === "" || plain === ":memory:" || plain.includes("\0")) context.addIssue(DATABASE_FORMS);
    return { databaseFile: plain, databaseUrl: undefined };
  });

function isDecodable(url: string): boolean {
  try {
    return decodeURIComponent(new URL(url).href) !== "";
  } catch {
    return false;
  }
}

const configSchema = z
  .object({
    PORT: integer(3_000, 0, 65_535),
    HOST: host,
    // Without what clients take out of a path before they send it.
    WEBHOOK_PATH: text(
      /^(?!.*(?:\/\/|\/\.{1,2}(?:\/|$)))\/[A-Za-z0-9\-._~/]{0,200}$/,
      "must be a path such as /webhooks, of at most 200 letters, digits and -._~/, without // and /../",
    )
      .refine((path) => !["/healthz", "/readyz"].includes(path), "is a health check's. Choose another.")
      .default("/webhooks"),
    SIGNING_SECRET: signingSecrets.default([]),
    DATABASE_URL: databaseUrl,
    DATABASE_SCHEMA: text(
      /^[a-z][a-z0-9_]{0,30}$/,
      "must be a name of lower-case letters, digits and _, such as receiver_staging.",
    ).default("receiver"),
    RECEIVER_ROLE: choice(ROLES, "all"),
    ADMIN_PORT: integer(3_001, 0, 65_535),
    ADMIN_HOST: host,
    ADMIN_TOKEN: text(/^[!-~]{16,}$/, TOKEN_RULE).optional(),
    ADMIN_SHOW_BODIES: choice(["true", "false"], "false"),
    API_BASE_URL: z
      .url({ protocol: /^https?$/, error: "must be an address such as https://api.example.com." })
      .refine((url) => !/[@?#]/.test(url), "takes no user, query or fragment. The key goes into API_KEY.")
      .optional(),
    API_KEY: text(
      /^[!-~]+$/,
      "contains white space, or what no key has, usually from copying. Remove it.",
    ).optional(),
    WORKER_CONCURRENCY: integer(8, 1, 1_000),
    HANDLER_TIMEOUT_SECONDS: integer(60, 1, 86_400),
    HANDLER_MEMORY_MEGABYTES: integer(512, 128, 65_536),
    MAX_ATTEMPTS: integer(10, 1, 100),
    MAX_AGE_HOURS: integer(72, 1, 8_760),
    MAX_BODY_BYTES: integer(1_048_576, 1_024, 16_777_216),
    KEEP_ALIVE_SECONDS: integer(5, 1, 3_600),
    RETENTION_DAYS: integer(30, 1, 3_650),
    // The retry schedule spans 14 h 36 min: an id that is forgotten sooner could be handled twice.
    ID_RETENTION_DAYS: integer(400, 2, 3_650),
    MIN_FREE_DISK_BYTES: integer(67_108_864, 0, Number.MAX_SAFE_INTEGER),
    SHUTDOWN_TIMEOUT_SECONDS: integer(15, 1, 3_600),
    LOG_LEVEL: choice(LOG_LEVELS, "info"),
  })
  .transform((values) => ({
    port: values.PORT,
    host: values.HOST,
    webhookPath: values.WEBHOOK_PATH,
    /** Active secrets, the current one first. Empty in the role `worker`. */
    signingSecrets: values.SIGNING_SECRET,
    ...values.DATABASE_URL,
    /** Of the tables in PostgreSQL. */
    databaseSchema: values.DATABASE_SCHEMA,
    role: values.RECEIVER_ROLE,
    adminPort: values.ADMIN_PORT,
    adminHost: values.ADMIN_HOST,
    adminToken: values.ADMIN_TOKEN,
    /**
     * The names that the admin port answers to, without a port, since a web page could reach it by a name of its own (DNS
     * rebinding); undefined: any, since a token is needed.
     */
    adminAllowedHosts: isLoopback(values.ADMIN_HOST) ? ["127.0.0.1", "localhost", "[::1]"] : undefined,
    adminShowsBodies: values.ADMIN_SHOW_BODIES === "true",
    api:
      values.API_BASE_URL !== undefined && values.API_KEY !== undefined
        ? { baseUrl: values.API_BASE_URL, key: values.API_KEY }
        : undefined,
    workerConcurrency: values.WORKER_CONCURRENCY,
    handlerTimeoutMs: values.HANDLER_TIMEOUT_SECONDS * 1_000,
    handlerMemoryMegabytes: values.HANDLER_MEMORY_MEGABYTES,
    maximumAttempts: values.MAX_ATTEMPTS,
    maximumAgeMs: values.MAX_AGE_HOURS * 3_600_000,
    maxBodyBytes: values.MAX_BODY_BYTES,
    keepAliveMs: values.KEEP_ALIVE_SECONDS * 1_000,
    retentionDays: values.RETENTION_DAYS,
    idRetentionDays: values.ID_RETENTION_DAYS,
    minimumFreeBytes: values.MIN_FREE_DISK_BYTES,
    shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT_SECONDS * 1_000,
    logLevel: values.LOG_LEVEL,
  }));

function isLoopback(given: string): boolean {
  const name = given.toLowerCase();
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}
