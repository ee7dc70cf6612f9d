import { join } from "node:path";
import { expect, test } from "vitest";
import { createReceiver, type ReceiverOptions } from "../../../receiver/index.ts";
import { environmentOf, type Settings } from "../../../receiver/library/settings.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

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

/** By itself, since `fork` copies whatever a test names by `new URL`. */
const NAMED = '"./handlers.mjs"';

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
    /no option port\. There are handlers, logTo, signingSecrets,.*logLevel\.$/,
  );
  expect(() => environmentOf({ signingSecrets: ["fine", "a,b"] }, {})).toThrow(
    "holds a comma: give each secret by itself",
  );
});

// JavaScript checks no types. `null` was the secret "null", and started the handlers that are shipped as examples.
test.each<[string, unknown, string]>([
  ["signingSecrets", null, 'must be a list of secrets, such as ["whsec_…"], not null.'],
  ["signingSecrets", "whsec_one", 'must be a list of secrets, such as ["whsec_…"], not of type string.'],
  [
    "signingSecrets",
    ["fine", undefined],
    "must be a list of strings, and entry 2 is undefined. Is the variable set that it comes from?",
  ],
  ["apiKey", null, "must be a string or a number, not null. Leave it out for its default."],
  ["role", null, "must be a string or a number, not null. Leave it out for its default."],
  ["workerConcurrency", [4], "must be a string or a number, not a list. Leave it out for its default."],
  ["logTo", "app.log", "must be a function that takes a line of the log."],
  ...[null, "./handlers.mjs", {}, [{ name: "mine", type: "*" }]].map(
    (handlers): [string, unknown, string] => [
      "handlers",
      handlers,
      `must be the URL of a module, such as new URL(${NAMED}, import.meta.url), or a list of what defineHandler() made.`,
    ],
  ),
])("%s is refused as %j, in words", async (name, value, problem) => {
  const options: Record<string, unknown> = {
    signingSecrets: ["secret"],
    databaseUrl: `sqlite:${join(temporaryDirectory(), "receiver.db")}`,
    [name]: value,
  };
  await expect(createReceiver(options as ReceiverOptions)).rejects.toThrow(
    new TypeError(`createReceiver(): ${name} ${problem}`),
  );
});
