/** Settings of docs/operations.md that matter to a receiver without a port of its own. */
export type Settings = {
  /** Several while one is rotated. Default: SIGNING_SECRET, or the file that SIGNING_SECRET_FILE names. */
  signingSecrets?: readonly string[];
  /** `sqlite:data/receiver.db` or `postgres://…`. Default: DATABASE_URL. */
  databaseUrl?: string;
  /** Whether it takes events, handles them, or both. Default: RECEIVER_ROLE, and `ingest` without handlers. */
  role?: "all" | "ingest" | "worker";
  workerConcurrency?: number;
  handlerTimeoutSeconds?: number;
  handlerMemoryMegabytes?: number;
  maxAttempts?: number;
  maxAgeHours?: number;
  maxBodyBytes?: number;
  retentionDays?: number;
  idRetentionDays?: number;
  minFreeDiskBytes?: number;
  shutdownTimeoutSeconds?: number;
  /** For handlers that ask the REST API, and for `reconcile`. */
  apiBaseUrl?: string;
  apiKey?: string;
  logLevel?: "trace" | "debug" | "info" | "warn" | "error" | "silent";
};

/** The variable of the environment that each of them stands for. */
const VARIABLES: Readonly<Record<keyof Settings, string>> = {
  signingSecrets: "SIGNING_SECRET",
  databaseUrl: "DATABASE_URL",
  role: "RECEIVER_ROLE",
  workerConcurrency: "WORKER_CONCURRENCY",
  handlerTimeoutSeconds: "HANDLER_TIMEOUT_SECONDS",
  handlerMemoryMegabytes: "HANDLER_MEMORY_MEGABYTES",
  maxAttempts: "MAX_ATTEMPTS",
  maxAgeHours: "MAX_AGE_HOURS",
  maxBodyBytes: "MAX_BODY_BYTES",
  retentionDays: "RETENTION_DAYS",
  idRetentionDays: "ID_RETENTION_DAYS",
  minFreeDiskBytes: "MIN_FREE_DISK_BYTES",
  shutdownTimeoutSeconds: "SHUTDOWN_TIMEOUT_SECONDS",
  apiBaseUrl: "API_BASE_URL",
  apiKey: "API_KEY",
  logLevel: "LOG_LEVEL",
};

/** The environment with these settings in place of its own. Throws where one is unknown or cannot be meant. */
export function environmentOf(
  settings: { [Name in keyof Settings]: Settings[Name] | undefined },
  environment: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const given: NodeJS.ProcessEnv = {};
  const variables = new Map(Object.entries(VARIABLES));
  for (const [name, value] of Object.entries(settings)) {
    const variable = variables.get(name);
    if (variable === undefined)
      throw new TypeError(
        `createReceiver() has no option ${name}. There are handlers, logTo, ${[...variables.keys()].join(", ")}.`,
      );
    if (value === undefined) continue;
    const problem = name === "signingSecrets" ? problemOfSecrets(value) : problemOf(value);
    if (problem !== undefined) throw new TypeError(`createReceiver(): ${name} ${problem}`);
    given[variable] = String(value);
  }
  // What is given here counts, also beside a file of secrets.
  const withoutFiles = Object.fromEntries(
    Object.entries(environment).filter(([name]) => given[name.replace(/_FILE$/, "")] === undefined),
  );
  return { ...withoutFiles, ...given };
}

/** JavaScript hands on anything: null would become the secret "null", which everybody can guess. */
function problemOfSecrets(secrets: unknown): string | undefined {
  if (!Array.isArray(secrets))
    return `must be a list of secrets, such as ["whsec_…"], not ${kindOf(secrets)}.`;
  const wrong = secrets.findIndex((secret: unknown) => typeof secret !== "string");
  if (wrong !== -1)
    return `must be a list of strings, and entry ${String(wrong + 1)} is ${kindOf(secrets[wrong])}. Is the variable set that it comes from?`;
  if (secrets.some((secret: string) => secret.includes(",")))
    return "has a secret that holds a comma: give each secret by itself.";
  return undefined;
}

function problemOf(value: unknown): string | undefined {
  if (typeof value === "string" || typeof value === "number") return undefined;
  return `must be a string or a number, not ${kindOf(value)}. Leave it out for its default.`;
}

/** Never the value itself, which may be secret. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? "a list" : `of type ${typeof value}`;
}
