import { readFileSync } from "node:fs";
import { isIPv4 } from "node:net";
import { z } from "zod";
import { choice, databaseUrl, hosts, integer, secrets, token } from "./config-values.ts";

/** Every setting of the receiver, read once at the start. Each has the name of its variable in docs/operations.md. */
export type Config = z.output<typeof configSchema>;

export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: string[] };

const DEFAULTS = { RETENTION_DAYS: 30, ID_RETENTION_DAYS: 400, ADMIN_HOST: "127.0.0.1" };
const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Reads the configuration from environment variables. All mistakes are reported at once, one line each, with the
 * variable, the rule and the fix. An empty variable counts as absent; `SIGNING_SECRET`, `API_KEY` and `ADMIN_TOKEN` may
 * also stand in a file, which `SIGNING_SECRET_FILE`, `API_KEY_FILE` or `ADMIN_TOKEN_FILE` names. `needsSecret`: whether
 * a missing signing secret is a mistake.
 */
export function loadConfig(
  environment: Readonly<Record<string, string | undefined>>,
  { needsSecret = environment["RECEIVER_ROLE"] !== "worker" } = {},
): ConfigResult {
  const problems: string[] = [];
  const given = withSecretsFromFiles(environment, problems);
  const parsed = configSchema.safeParse(given);
  if (!parsed.success) {
    problems.push(...parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`));
  }
  problems.push(...problemsTogether(given, problems, needsSecret));
  if (problems.length > 0 || !parsed.success) return { ok: false, problems: problems.toSorted() };
  return { ok: true, config: parsed.data };
}

/** Mistakes that only show when variables are looked at side by side. */
function problemsTogether(
  given: Readonly<Record<string, string>>,
  sofar: readonly string[],
  needsSecret: boolean,
): string[] {
  const isMissing = (name: string): boolean =>
    given[name] === undefined && !sofar.some((problem) => problem.startsWith(`${name}_FILE`));
  const isHalf = (name: string, other: string): boolean => isMissing(name) && given[other] !== undefined;
  const { ADMIN_HOST: adminHost = DEFAULTS.ADMIN_HOST } = given;
  const bodyDays = Number(given["RETENTION_DAYS"] ?? DEFAULTS.RETENTION_DAYS);
  const idDays = Number(given["ID_RETENTION_DAYS"] ?? DEFAULTS.ID_RETENTION_DAYS);
  const isOpen = !isLoopback(adminHost) && given["ADMIN_ALLOWED_HOSTS"] === undefined;
  const rules: [isBroken: boolean, problem: string][] = [
    [
      needsSecret && isMissing("SIGNING_SECRET"),
      "SIGNING_SECRET: is missing. Set it to the signing secret that the dashboard showed when the endpoint was registered, or put that in a file and name it in SIGNING_SECRET_FILE.",
    ],
    [
      isHalf("API_KEY", "API_BASE_URL"),
      "API_KEY: is missing, though API_BASE_URL is set: the REST API needs both. Set both or neither.",
    ],
    [
      isHalf("API_BASE_URL", "API_KEY"),
      "API_BASE_URL: is missing, though API_KEY is set: the REST API needs both. Set both or neither.",
    ],
    [
      isOpen && isMissing("ADMIN_TOKEN"),
      `ADMIN_HOST: ${adminHost} lets others than this machine look into the inbox. Set ADMIN_TOKEN to what they have to show, or ADMIN_ALLOWED_HOSTS to the names by which they may ask, or leave ADMIN_HOST out.`,
    ],
    [
      bodyDays > idDays,
      `ID_RETENTION_DAYS: must be at least RETENTION_DAYS (${String(bodyDays)}): an event's id outlives its body.`,
    ],
  ];
  return rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : []));
}

function withSecretsFromFiles(
  environment: Readonly<Record<string, string | undefined>>,
  problems: string[],
): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && value !== "") given[name] = value;
  }
  for (const name of ["SIGNING_SECRET", "API_KEY", "ADMIN_TOKEN"]) {
    const file = given[`${name}_FILE`];
    if (file === undefined) continue;
    if (given[name] !== undefined) {
      problems.push(
        `${name}_FILE: is set beside ${name}, so it is unclear which counts. Remove one of them.`,
      );
      continue;
    }
    try {
      // Editors and `echo` end a file with a line break, which is no part of the secret.
      given[name] = readFileSync(file, "utf8").replace(/\r?\n$/, "");
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
      problems.push(`${name}_FILE: cannot read ${file} (${code}). Name a file that this user may read.`);
    }
  }
  return given;
}

const environmentSchema = z.object({
  PORT: integer({ default: 3_000, minimum: 0, maximum: 65_535 }),
  HOST: z.string().default("127.0.0.1"),
  WEBHOOK_PATH: z
    .string()
    .regex(
      /^\/[A-Za-z0-9\-._~/]*$/,
      "must begin with / and hold only letters, digits and - . _ ~ /, such as /webhooks.",
    )
    .refine(
      (path) => !["/healthz", "/readyz"].includes(path),
      "is taken by the health checks. Choose another path.",
    )
    .default("/webhooks"),
  SIGNING_SECRET: secrets.optional(),
  DATABASE_URL: databaseUrl,
  DATABASE_SCHEMA: z
    .string()
    .regex(
      /^[a-z_][a-z0-9_]{0,39}$/,
      "must begin with a lower-case letter or _ and hold only those and digits, 40 at the most, such as receiver_staging.",
    )
    .default("receiver"),
  POSTGRES_BACKEND: choice(["postgres", "cockroachdb", "yugabytedb", "citus"], "postgres"),
  RECEIVER_ROLE: choice(["all", "ingest", "worker"], "all"),
  ADMIN_PORT: integer({ default: 3_001, minimum: 0, maximum: 65_535 }),
  ADMIN_HOST: z.string().default(DEFAULTS.ADMIN_HOST),
  ADMIN_TOKEN: token.optional(),
  ADMIN_ALLOWED_HOSTS: hosts.optional(),
  ADMIN_SHOW_BODIES: choice(["true", "false"], "false"),
  API_BASE_URL: z
    .url({
      protocol: /^https?$/,
      error: "must be the address of the service, such as https://api.example.com.",
    })
    .refine(
      (url) => !/[@?#]/.test(url),
      "must hold no user, password, query or fragment: the key goes into API_KEY, and everything else is not sent. Remove them.",
    )
    .optional(),
  API_KEY: z.string().regex(/^\S+$/, "contains white space, usually from copying. Remove it.").optional(),
  WORKER_CONCURRENCY: integer({ default: 8, minimum: 1, maximum: 1_000 }),
  HANDLER_TIMEOUT_SECONDS: integer({ default: 60, minimum: 1, maximum: 86_400 }),
  HANDLER_MEMORY_MEGABYTES: integer({ default: 512, minimum: 64, maximum: 65_536 }),
  MAX_ATTEMPTS: integer({ default: 10, minimum: 1, maximum: 100 }),
  MAX_AGE_HOURS: integer({ default: 72, minimum: 1, maximum: 8_760 }),
  MAX_BODY_BYTES: integer({ default: 1_048_576, minimum: 1_024, maximum: 16_777_216 }),
  KEEP_ALIVE_SECONDS: integer({ default: 5, minimum: 1, maximum: 600 }),
  RETENTION_DAYS: integer({ default: DEFAULTS.RETENTION_DAYS, minimum: 1, maximum: 3_650 }),
  // The retry schedule spans 14 h 36 min: an id that is forgotten sooner could be handled twice.
  ID_RETENTION_DAYS: integer({ default: DEFAULTS.ID_RETENTION_DAYS, minimum: 2, maximum: 3_650 }),
  MIN_FREE_DISK_BYTES: integer({ default: 67_108_864, minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  SHUTDOWN_TIMEOUT_SECONDS: integer({ default: 15, minimum: 1, maximum: 3_600 }),
  LOG_LEVEL: choice(["trace", "debug", "info", "warn", "error", "silent"], "info"),
});

const configSchema = environmentSchema.transform((values) => ({
  port: values.PORT,
  host: values.HOST,
  webhookPath: values.WEBHOOK_PATH,
  /** Active secrets; the first is the current one, others are there while rotating. Empty in the role `worker`. */
  signingSecrets: values.SIGNING_SECRET ?? [],
  ...values.DATABASE_URL,
  /** In PostgreSQL, of the inbox; pg-boss's tables and the handlers' have schemas named after it. */
  databaseSchema: values.DATABASE_SCHEMA,
  postgresBackend: values.POSTGRES_BACKEND,
  role: values.RECEIVER_ROLE,
  adminPort: values.ADMIN_PORT,
  adminHost: values.ADMIN_HOST,
  /** The token that requests to the admin port must carry; undefined: no token is needed. */
  adminToken: values.ADMIN_TOKEN,
  /** The names that the admin port answers to, without a port; undefined where a token is enough. */
  adminAllowedHosts: allowedHosts(values.ADMIN_HOST, values.ADMIN_ALLOWED_HOSTS),
  /** Whether the operator's page shows envelopes whole. */
  adminShowsBodies: values.ADMIN_SHOW_BODIES === "true",
  api:
    values.API_BASE_URL !== undefined && values.API_KEY !== undefined
      ? { baseUrl: values.API_BASE_URL, key: values.API_KEY }
      : undefined,
  workerConcurrency: values.WORKER_CONCURRENCY,
  handlerTimeoutMs: values.HANDLER_TIMEOUT_SECONDS * 1_000,
  /** What the handlers' process may hold in memory. */
  handlerMemoryMegabytes: values.HANDLER_MEMORY_MEGABYTES,
  maximumAttempts: values.MAX_ATTEMPTS,
  /** How long a handler may put a job off with `RetryAfter`. */
  maximumAgeMs: values.MAX_AGE_HOURS * 3_600_000,
  maxBodyBytes: values.MAX_BODY_BYTES,
  /** How long a connection without a request is kept. */
  keepAliveMs: values.KEEP_ALIVE_SECONDS * 1_000,
  retentionDays: values.RETENTION_DAYS,
  idRetentionDays: values.ID_RETENTION_DAYS,
  minimumFreeBytes: values.MIN_FREE_DISK_BYTES,
  shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT_SECONDS * 1_000,
  logLevel: values.LOG_LEVEL,
}));

/** On loopback names are checked beside a token, too: a web page could reach the port by a name of its own (DNS rebinding). */
function allowedHosts(adminHost: string, named: string[] | undefined): string[] | undefined {
  return named === undefined && !isLoopback(adminHost) ? undefined : [...LOOPBACK_NAMES, ...(named ?? [])];
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}
