/** Settings of the receiver that matter without a port of its own, by the names of their variables in camelCase. */
export type Settings = {
  /** Several while one is rotated. Default: SIGNING_SECRET, or the file that SIGNING_SECRET_FILE names. */
  signingSecrets?: readonly string[];
  /** `sqlite:data/receiver.db`, which is the default, or `postgres://…`. The app's DATABASE_URL is not used. */
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
  /** For handlers that ask the REST API. */
  apiBaseUrl?: string;
  apiKey?: string;
  logLevel?: "trace" | "debug" | "info" | "warn" | "error" | "silent";
};

/** Variables of the environment that belong to the app around the receiver. */
const OF_THE_APP = ["DATABASE_URL", "PORT", "HOST"];

const NAMES: readonly (keyof Settings)[] = [
  ...(["signingSecrets", "databaseUrl", "role", "workerConcurrency", "handlerTimeoutSeconds"] as const),
  ...(["handlerMemoryMegabytes", "maxAttempts", "maxAgeHours", "maxBodyBytes", "retentionDays"] as const),
  ...([
    "idRetentionDays",
    "minFreeDiskBytes",
    "shutdownTimeoutSeconds",
    "apiBaseUrl",
    "apiKey",
    "logLevel",
  ] as const),
];

/** The environment with these settings in place of its own. Throws if one is unknown or of a wrong type. */
export function environmentOf(settings: Settings, environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const merged = { ...environment };
  for (const name of OF_THE_APP) delete merged[name];
  const known = new Set<string>(NAMES);
  for (const [name, value] of Object.entries(settings)) {
    if (!known.has(name))
      throw new TypeError(`createReceiver() has no option ${name}. It has ${NAMES.join(", ")}.`);
    if (value === undefined) continue;
    const isRight =
      name === "signingSecrets"
        ? Array.isArray(value) && value.every((secret) => typeof secret === "string" && !secret.includes(","))
        : typeof value === "string" || typeof value === "number";
    // Never the value itself: it may be secret.
    if (!isRight)
      throw new TypeError(
        `createReceiver(): ${name} must be ${rule(name)}. Is the variable set that it comes from?`,
      );
    const variable = variableOf(name);
    merged[variable] = String(value);
    delete merged[`${variable}_FILE`];
  }
  return merged;
}

function rule(name: string): string {
  return name === "signingSecrets"
    ? 'a list of secrets without commas, such as ["whsec_…"]'
    : "a string or a number";
}

/** `maxAgeHours` is MAX_AGE_HOURS. */
function variableOf(name: string): string {
  if (name === "signingSecrets") return "SIGNING_SECRET";
  if (name === "role") return "RECEIVER_ROLE";
  return name.replaceAll(/[A-Z]/g, "_$&").toUpperCase();
}
