import { join } from "node:path";
import { expect, test } from "vitest";
import { createReceiver, type ReceiverOptions } from "../../../receiver/index.ts";
import { readOptions } from "../../../receiver/library/options.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

test("settings override the environment, and a file that it names", () => {
  const environment = { API_KEY: "theirs", API_KEY_FILE: "/theirs", OTHER: "stays", MAX_AGE_HOURS: "6" };
  const given: ReceiverOptions = { signingSecrets: ["one", "two"], role: "worker", apiKey: "key" };
  expect(readOptions(given, environment).environment).toEqual({
    SIGNING_SECRET: "one,two",
    RECEIVER_ROLE: "worker",
    API_KEY: "key",
    OTHER: "stays",
    MAX_AGE_HOURS: "6",
  });
});

test("variables that belong to the app are not read", () => {
  const environment = { DATABASE_URL: "postgres://app", PORT: "80", HOST: "0.0.0.0" };
  const only = (given: ReceiverOptions) => readOptions({ handlers: [], ...given }, environment).environment;
  expect(only({})).toEqual({});
  expect(only({ databaseUrl: "sqlite:x.db" })).toEqual({ DATABASE_URL: "sqlite:x.db" });
});

// JavaScript checks no types: null must not become the secret "null".
test.each<[string, unknown, RegExp]>([
  ["port", 1, /Unrecognized key: "port"/],
  ["signingSecrets", null, /signingSecrets: must be a list of secrets without commas/],
  ["signingSecrets", "whsec_one", /signingSecrets: must be a list of secrets/],
  ["signingSecrets", ["fine", undefined], /signingSecrets: must be a list of secrets/],
  ["signingSecrets", ["fine", "a,b"], /signingSecrets: must be a list of secrets/],
  ["signingSecrets", [""], /SIGNING_SECRET/],
  ["apiKey", null, /apiKey: Invalid input: expected string/],
  ["workerConcurrency", [4], /workerConcurrency: Invalid input: expected number/],
  ["workerConcurrency", 0, /WORKER_CONCURRENCY: must be a whole number/],
  ["role", "both", /role: Invalid option: expected one of "all"\|"ingest"\|"worker"/],
  ["logTo", "app.log", /logTo: must be a function/],
  ["handlers", null, /handlers: must be the URL of a module/],
  ["handlers", "./handlers.mjs", /handlers: must be the URL of a module/],
  ["handlers", [{ name: "mine", type: "*" }], /handlers: must be the URL of a module/],
])("%s as %j is refused in words", async (name, value, problem) => {
  const options: Record<string, unknown> = {
    signingSecrets: ["secret"],
    databaseUrl: `sqlite:${join(temporaryDirectory(), "receiver.db")}`,
    [name]: value,
  };
  await expect(createReceiver(options as ReceiverOptions)).rejects.toThrow(problem);
});
