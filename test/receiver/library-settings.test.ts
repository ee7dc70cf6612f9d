import { expect, test } from "vitest";
import { environmentOf, type Settings } from "../../receiver/library/settings.ts";

/** The variable of each setting, as docs/operations.md has it. */
const VARIABLES: [keyof Settings, string, Settings[keyof Settings], string][] = [
  ["signingSecrets", "SIGNING_SECRET", ["one", "two"], "one,two"],
  ["databaseUrl", "DATABASE_URL", "sqlite:x.db", "sqlite:x.db"],
  ["role", "RECEIVER_ROLE", "worker", "worker"],
  ["workerConcurrency", "WORKER_CONCURRENCY", 3, "3"],
  ["handlerTimeoutSeconds", "HANDLER_TIMEOUT_SECONDS", 4, "4"],
  ["handlerMemoryMegabytes", "HANDLER_MEMORY_MEGABYTES", 65, "65"],
  ["maxAttempts", "MAX_ATTEMPTS", 5, "5"],
  ["maxAgeHours", "MAX_AGE_HOURS", 6, "6"],
  ["maxBodyBytes", "MAX_BODY_BYTES", 2_048, "2048"],
  ["retentionDays", "RETENTION_DAYS", 7, "7"],
  ["idRetentionDays", "ID_RETENTION_DAYS", 8, "8"],
  ["minFreeDiskBytes", "MIN_FREE_DISK_BYTES", 0, "0"],
  ["shutdownTimeoutSeconds", "SHUTDOWN_TIMEOUT_SECONDS", 9, "9"],
  ["apiBaseUrl", "API_BASE_URL", "https://a.example", "https://a.example"],
  ["apiKey", "API_KEY", "key", "key"],
  ["logLevel", "LOG_LEVEL", "silent", "silent"],
];

test.each(VARIABLES)(
  "%s is given as %s, in place of what the environment says",
  (name, variable, value, text) => {
    const environment = {
      [variable]: "theirs",
      [`${variable}_FILE`]: "/theirs",
      OTHER: "stays",
      OTHER_FILE: "/too",
    };
    expect(environmentOf({ [name]: value }, environment)).toEqual({
      [variable]: text,
      OTHER: "stays",
      OTHER_FILE: "/too",
    });
    expect(environmentOf({ [name]: undefined }, environment)).toEqual(environment);
  },
);

test("an option that there is not, and a secret with a comma in it, are refused in words", () => {
  expect(() => environmentOf({ port: 1 } as Settings, {})).toThrow(
    /no option port\. There are handlers, signingSecrets,.*logLevel\.$/,
  );
  expect(() => environmentOf({ signingSecrets: ["fine", "a,b"] }, {})).toThrow(
    "holds a comma: give each secret by itself",
  );
});
