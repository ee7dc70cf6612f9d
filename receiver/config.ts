import { readFileSync, statSync } from "node:fs";
import { isIPv4 } from "node:net";
import { parseEnv } from "node:util";
import { z } from "zod";
import { decodeText } from "../shared/text.ts";

/** Every setting of the receiver, read once at the start. docs/operations.md explains each variable. */
export type Config = ReturnType<typeof settingsOf>;

export type Environment = Readonly<Record<string, string | undefined>>;

export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: string[] };

/** Reads one variable by its rule; a wrong value counts as absent. */
type Read = <Value>(name: string, rule: z.ZodType<Value>) => Value;

const LONGEST_FILE_BYTES = 65_536;
export const ROLES = ["all", "ingest", "worker"] as const;
const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
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
  const has = (name: string): boolean =>
    Boolean(given[name]) || problems.some((problem) => problem.startsWith(`${name}_FILE`));
  if (needsSecret && !has("SIGNING_SECRET")) problems.push(NO_SECRET);
  if (has("API_KEY") !== has("API_BASE_URL"))
    problems.push("API_BASE_URL and API_KEY are needed together. Set both or neither.");
  const config = settingsOf((name, rule) => {
    const { success, data, error } = rule.safeParse(given[name] || undefined);
    if (success) return data;
    problems.push(...error.issues.map(({ message }) => `${name} ${message}`));
    return rule.parse(undefined);
  });
  if (config.adminAllowedHosts === undefined && !has("ADMIN_TOKEN"))
    problems.push(`ADMIN_HOST ${config.adminHost} ${OPEN_ADMIN}`);
  if (config.retentionDays > config.idRetentionDays)
    problems.push("ID_RETENTION_DAYS must be at least RETENTION_DAYS: an event's id outlives its body.");
  return problems.length > 0 ? { ok: false, problems: problems.toSorted() } : { ok: true, config };
}

const NO_SECRET =
  "SIGNING_SECRET is missing. Set it to the signing secret that the dashboard showed when the endpoint was registered, or name a file that holds it in SIGNING_SECRET_FILE.";
const OPEN_ADMIN =
  "lets other machines read the inbox. Set ADMIN_TOKEN to a token that they must send, or leave ADMIN_HOST out.";
// Without the parts of a path that clients remove before they send it.
const PATH = /^(?!.*(?:\/\/|\/\.{1,2}(?:\/|$)))(?!\/(?:healthz|readyz)$)\/[A-Za-z0-9\-._~/]{0,200}$/;
const PATH_RULE =
  "must be a path such as /webhooks, of at most 200 letters, digits and -._~/, without // and /../, and not a health check's.";
const SCHEMA_RULE = "must be a name of lower-case letters, digits and _, such as receiver_staging.";
const TOKEN_RULE = "must have at least 16 characters and no white space. Make one with: openssl rand -hex 24";
const KEY_RULE = "contains white space, or a character that no key has, usually from copying. Remove it.";

function settingsOf(read: Read) {
  const host = text(/^\S+$/, "contains white space. Remove it.").default("127.0.0.1");
  const adminHost = read("ADMIN_HOST", host);
  const [baseUrl, key] = [
    read("API_BASE_URL", addressRule),
    read("API_KEY", text(/^[!-~]+$/, KEY_RULE).optional()),
  ];
  return {
    port: read("PORT", integer(3_000, 0, 65_535)),
    host: read("HOST", host),
    webhookPath: read("WEBHOOK_PATH", text(PATH, PATH_RULE).default("/webhooks")),
    /** Active secrets, the current one first. Empty in the role `worker`. */
    signingSecrets: read("SIGNING_SECRET", secretsRule),
    ...read("DATABASE_URL", databaseRule),
    /** The schema of the tables in PostgreSQL. */
    databaseSchema: read("DATABASE_SCHEMA", text(/^[a-z][a-z0-9_]{0,30}$/, SCHEMA_RULE).default("receiver")),
    role: read("RECEIVER_ROLE", choice(ROLES, "all")),
    adminPort: read("ADMIN_PORT", integer(3_001, 0, 65_535)),
    adminHost,
    adminToken: read("ADMIN_TOKEN", text(/^[!-~]{16,}$/, TOKEN_RULE).optional()),
    /**
     * The host names that the admin port answers to, since a web page could reach it under its own name (DNS rebinding);
     * undefined for any name, since a token is required then.
     */
    adminAllowedHosts: isLoopback(adminHost) ? ["127.0.0.1", "localhost", "[::1]"] : undefined,
    api: baseUrl !== undefined && key !== undefined ? { baseUrl, key } : undefined,
    workerConcurrency: read("WORKER_CONCURRENCY", integer(8, 1, 1_000)),
    handlerTimeoutMs: read("HANDLER_TIMEOUT_SECONDS", integer(60, 1, 86_400)) * 1_000,
    handlerMemoryMegabytes: read("HANDLER_MEMORY_MEGABYTES", integer(512, 128, 65_536)),
    maximumAttempts: read("MAX_ATTEMPTS", integer(10, 1, 100)),
    maximumAgeMs: read("MAX_AGE_HOURS", integer(72, 1, 8_760)) * 3_600_000,
    maxBodyBytes: read("MAX_BODY_BYTES", integer(1_048_576, 1_024, 16_777_216)),
    keepAliveMs: read("KEEP_ALIVE_SECONDS", integer(5, 1, 3_600)) * 1_000,
    retentionDays: read("RETENTION_DAYS", integer(30, 1, 3_650)),
    // The retry schedule spans 14 h 36 min: an event whose id is forgotten sooner could be handled twice.
    idRetentionDays: read("ID_RETENTION_DAYS", integer(400, 2, 3_650)),
    // SQLite needs some room to be able to delete.
    minimumFreeBytes: read("MIN_FREE_DISK_BYTES", integer(67_108_864, 1_048_576, Number.MAX_SAFE_INTEGER)),
    shutdownTimeoutMs: read("SHUTDOWN_TIMEOUT_SECONDS", integer(15, 1, 3_600)) * 1_000,
    logLevel: read("LOG_LEVEL", choice(LOG_LEVELS, "info")),
  };
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

function text(pattern: RegExp, rule: string): z.ZodString {
  return z.string().regex(pattern, rule);
}

const secretsRule = z
  .string()
  .transform((text, context) => {
    const secrets = text.split(",");
    for (const [index, secret] of secrets.entries()) {
      const which = `(${String(index + 1)} of ${String(secrets.length)})`;
      if (secret === "") context.addIssue(`has an empty secret ${which}. Remove the stray comma.`);
      else if (/\s|\p{C}|\uFFFD|^(["']).*\1$/u.test(secret))
        context.addIssue(
          `has white space, an invisible character or quotes in a secret ${which}. Remove them.`,
        );
    }
    return secrets;
  })
  .default([]);

/** A file for SQLite, or the address of a PostgreSQL database; the other one is undefined. */
const databaseRule = z
  .string()
  .default("sqlite:data/receiver.db")
  .transform((given, context): { databaseFile: string | undefined; databaseUrl: string | undefined } => {
    const url = given.trim();
    if (/^postgres(ql)?:/.test(url)) {
      if (isDecodable(url)) return { databaseUrl: url, databaseFile: undefined };
      context.addIssue("is not an address such as postgres://host/db. In passwords, / is %2F and @ is %40.");
      return z.NEVER;
    }
    const named = url.replace(/^sqlite:(?:\/\/(?=\/))?/, "").trim();
    const file = named.replace(/^(?:\/\/(?!\/)|file:)+|\?.*$/g, "");
    if (file.startsWith("~"))
      context.addIssue("begins with ~, which only a shell expands. Write the whole path.");
    else if (!url.startsWith("sqlite:") || file === "" || file === ":memory:" || file.includes("\0"))
      context.addIssue(
        "must name a file on a local disk, such as sqlite:data/receiver.db or sqlite:/var/lib/receiver.db, or a database such as postgres://host/receiver.",
      );
    else if (file !== named) context.addIssue(`takes only a file. Write sqlite:${file}`);
    return { databaseFile: file, databaseUrl: undefined };
  });

function isDecodable(url: string): boolean {
  try {
    return decodeURIComponent(new URL(url).href) !== "";
  } catch {
    return false;
  }
}

const addressRule = z
  .url({ protocol: /^https?$/, error: "must be an address such as https://api.example.com." })
  .refine((url) => !/[@?#]/.test(url), "takes no user, query or fragment. The key goes into API_KEY.")
  .optional();

function isLoopback(given: string): boolean {
  const name = given.toLowerCase();
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}

/**
 * The environment, and for variables that it lacks the file `.env` of this folder, if there is one; /dev/null counts as none.
 * Throws if the file cannot be read.
 */
export function readEnvironment(environment: Environment, file = ".env"): Environment {
  const found = statSync(file, { throwIfNoEntry: false });
  const isEmpty = !found || found.isCharacterDevice() || (found.isFile() && found.size === 0);
  return isEmpty ? environment : { ...parseEnv(readSmallFile(file)), ...environment };
}

/** Secrets that sign events or admit an operator, and the setting that is only allowed with them. */
const NOT_FOR_HANDLERS = "SIGNING_SECRET SIGNING_SECRET_FILE ADMIN_TOKEN ADMIN_TOKEN_FILE ADMIN_HOST".split(
  " ",
);

/** The environment for handlers: other secrets are empty, so `.env` cannot restore them. Throws if a setting is wrong. */
export function environmentForHandlers(environment: Environment): NodeJS.ProcessEnv {
  const own = { ...environment, ...Object.fromEntries(NOT_FOR_HANDLERS.map((name) => [name, ""])) };
  const loaded = loadConfig(own, { needsSecret: false });
  if (!loaded.ok) throw new Error(loaded.problems.join(" "));
  return own;
}

function withSecretsFromFiles(environment: Environment, problems: string[]): Environment {
  const given = { ...environment };
  for (const name of SECRETS) {
    const file = given[`${name}_FILE`];
    if (!file) continue;
    try {
      if (given[name]) throw new Error(`${name} is set too. Remove one of them.`);
      // Editors and `echo` end a file with a line break, which is not part of the secret.
      given[name] = readSmallFile(file).replace(/\r?\n$/, "");
      if (given[name] === "") throw new Error(`${file} contains no secret. Put it in.`);
    } catch (error) {
      problems.push(`${name}_FILE: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return given;
}

/** The text of a regular file. Pipes, devices and files of /proc may never end, so they are refused. */
function readSmallFile(file: string): string {
  const stats = statSync(file);
  if (!stats.isFile() || stats.size === 0 || stats.size > LONGEST_FILE_BYTES)
    throw new Error(
      `${file} is not a file of 1 to ${String(LONGEST_FILE_BYTES)} bytes. Name the right file.`,
    );
  const decoded = decodeText(readFileSync(file), file);
  if (!decoded.ok) throw new Error(decoded.message);
  return decoded.text;
}
