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

/** Variables that are not called as their settings are. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  signingSecrets: "SIGNING_SECRET",
  role: "RECEIVER_ROLE",
};

const NAMES = [
  "signingSecrets",
  "databaseUrl",
  "role",
  "workerConcurrency",
  "handlerTimeoutSeconds",
  "handlerMemoryMegabytes",
  "maxAttempts",
  "maxAgeHours",
  "maxBodyBytes",
  "retentionDays",
  "idRetentionDays",
  "minFreeDiskBytes",
  "shutdownTimeoutSeconds",
  "apiBaseUrl",
  "apiKey",
  "logLevel",
] as const satisfies readonly (keyof Settings)[];

/** The environment with these settings in place of its own. Throws where one is unknown, or a secret holds a comma. */
export function environmentOf(
  settings: { [Name in keyof Settings]: Settings[Name] | undefined },
  environment: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const unknown = Object.keys(settings).find((name) => !NAMES.some((known) => known === name));
  if (unknown !== undefined)
    throw new TypeError(
      `createReceiver() has no option ${unknown}. There are handlers, ${NAMES.join(", ")}.`,
    );
  if (settings.signingSecrets?.some((secret) => secret.includes(",")))
    throw new TypeError("createReceiver(): a signing secret holds a comma: give each secret by itself.");
  const given: NodeJS.ProcessEnv = {};
  for (const name of NAMES) {
    const value = settings[name];
    if (value !== undefined) given[variableOf(name)] = String(value);
  }
  // What is given here counts, also beside a file of secrets.
  const withoutFiles = Object.fromEntries(
    Object.entries(environment).filter(([name]) => given[name.replace(/_FILE$/, "")] === undefined),
  );
  return { ...withoutFiles, ...given };
}

/** `retentionDays` is RETENTION_DAYS. */
function variableOf(name: string): string {
  return OTHER_NAMES[name] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
