import { join } from "node:path";
import { expect, test } from "vitest";
import { createReceiver, type ReceiverOptions } from "../../../receiver/index.ts";
import { readOptions } from "../../../receiver/library/options.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

test("settings override the environment, and a file that it names", () => {
  const theirs = { SIGNING_SECRET_FILE: "/theirs", API_KEY_FILE: "/run/key", MAX_AGE_HOURS: "6" };
  const environment = { MAX_ATTEMPTS: "3", MAX_AGE_HOURS: "7" };
  const given: ReceiverOptions = { signingSecrets: ["one", "two"], role: "worker", environment };
  expect(readOptions(given, theirs).environment).toEqual({
    SIGNING_SECRET: "one,two",
    RECEIVER_ROLE: "worker",
    API_KEY_FILE: "/run/key",
    MAX_ATTEMPTS: "3",
    MAX_AGE_HOURS: "7",
  });
});

test("variables that belong to the app are not read", () => {
  const environment = { DATABASE_URL: "postgres://app", PORT: "80", HOST: "0.0.0.0" };
  const only = (given: ReceiverOptions) => readOptions({ handlers: [], ...given }, environment).environment;
  expect(only({})).toEqual({});
  expect(only({ environment })).toEqual({});
  expect(only({ databaseUrl: "sqlite:x.db" })).toEqual({ DATABASE_URL: "sqlite:x.db" });
});

// JavaScript checks no types: null must not become the secret "null".
test.each<[string, unknown, RegExp]>([
  ["port", 1, /Unrecognized key: "port"\.$/],
  ["signingSecrets", null, /signingSecrets: must be a list of secrets without commas/],
  ["signingSecrets", "whsec_one", /signingSecrets: must be a list of secrets/],
  ["signingSecrets", ["fine", undefined], /signingSecrets: must be a list of secrets/],
  ["signingSecrets", ["fine", "a,b"], /signingSecrets: must be a list of secrets/],
  ["signingSecrets", [" whsec"], /SIGNING_SECRET has white space/],
  ["databaseUrl", "sqlite:/nowhere/at/all.db", /no folder \/nowhere/],
  ["databaseUrl", "", /databaseUrl: must name a database.*variable set\?$/],
  ["environment", { API_KEY: null }, /environment: Invalid input: expected string/],
  ["role", "both", /role: Invalid option: expected one of "all"\|"ingest"\|"worker"/],
  ["logTo", "app.log", /logTo: must be a function/],
  ["onDead", () => undefined, /handlers: `createServices` and `onDead` are options of handlers.* a list/],
  ["pool", {}, /pool: is used with PostgreSQL only/],
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
