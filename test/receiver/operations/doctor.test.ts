import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { loadConfig, type Config } from "../../../receiver/config.ts";
import { examine, type Finding } from "../../../receiver/operations/doctor.ts";
import { createRestClient } from "../../../receiver/operations/rest-client.ts";
import type { Store } from "../../../receiver/store/port.ts";
import { movableClock } from "../helpers/clock.ts";
import { API_KEY, startRestService } from "../helpers/rest-service.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { dead, openInbox } from "./inbox.ts";

const SECRET = "whsec_0123456789";

function configOf(environment: Record<string, string> = {}): Config {
  const loaded = loadConfig({ SIGNING_SECRET: SECRET, RECEIVER_ROLE: "ingest", ...environment });
  if (!loaded.ok) throw new Error(loaded.problems.join());
  return loaded.config;
}

type Options = { store?: Store; environment?: Record<string, string> } & Partial<
  Parameters<typeof examine>[0]
>;

/** The findings of one check, as `level: message`. */
async function found(check: string, { environment = {}, ...options }: Options = {}): Promise<string[]> {
  const config = configOf(environment);
  const findings = await examine({
    config,
    store: undefined,
    api: undefined,
    clock: systemClock,
    environment,
    ...options,
  });
  return findings.flatMap((one: Finding) => (one.check === check ? [`${one.level}: ${one.message}`] : []));
}

test("secrets: short ones, equal ones and several are named without their text", async () => {
  expect(await found("secrets")).toEqual(["ok: The signing secret is set."]);
  const said = await found("secrets", { environment: { SIGNING_SECRET: `short,${SECRET},${SECRET}` } });
  expect(said.slice(0, 3)).toEqual([
    "warning: Secret 1 has under 16 characters: is it whole?",
    "warning: A secret is there twice.",
    expect.stringMatching(/^warning: Several are active\./),
  ]);
  expect(said.join()).not.toContain(SECRET);
});

test.skipIf(process.platform === "win32")("secrets: a file that everyone can read is named", async () => {
  const file = join(temporaryDirectory(), "secret");
  writeFileSync(file, SECRET);
  const environment = { SIGNING_SECRET: "", SIGNING_SECRET_FILE: file };
  chmodSync(file, 0o644);
  expect(await found("secrets", { environment })).toContain(
    `warning: Everyone can read ${file}: chmod o-rwx ${file}`,
  );
  chmodSync(file, 0o640);
  expect(await found("secrets", { environment })).toEqual(["ok: The signing secret is set."]);
});

test("database: one that is not there yet says how to begin, also anew; without its folder it is a problem", async () => {
  const folder = temporaryDirectory();
  const [said] = await found("database", {
    environment: { DATABASE_URL: `sqlite:${folder}/data/receiver.db` },
  });
  expect(said).toMatch(
    /^warning: There is none at .*\. If it was deleted, start the receiver, then run `reconcile --since 7d`/,
  );
  expect(
    await found("database", { environment: { DATABASE_URL: `sqlite:${folder}/a/b/receiver.db` } }),
  ).toEqual([expect.stringMatching(/^problem: There is no folder/)]);
});

test("database: damage and a refusal of writes are problems", async () => {
  const store = await openInbox();
  expect(await found("database", { store })).toEqual(["ok: It is whole, and takes writes."]);
  const check = async (): Promise<string[]> => ["row 3 missing from index"];
  expect(await found("database", { store: { ...store, ledger: { ...store.ledger, check } } })).toEqual([
    expect.stringMatching(/^problem: row 3 missing from index Stop the receiver and restore a backup/),
  ]);
  const probe: Store["intake"]["probe"] = async () => ({ ok: false, reason: "read_only", detail: "no" });
  expect(await found("database", { store: { ...store, intake: { ...store.intake, probe } } })).toEqual([
    "problem: It takes no writes (read_only): no",
  ]);
});

test("inbox: dead jobs by cause and what waits for an hour are warnings; events that no handler wants are none", async () => {
  const clock = movableClock();
  const store = await openInbox(undefined, clock);
  await store.stored({ type: "agent.created" });
  await store.handled({ kind: "done" });
  expect(await found("inbox", { store, clock })).toEqual([
    "ok: 2 events are known; no handler wanted 1 of them.",
  ]);
  await store.handled(dead("HTTP 500"));
  await store.stored();
  expect(await found("inbox", { store, clock })).toContain(
    "warning: 1 dead of log-call: HTTP 500. Fix that, then: inbox requeue --state dead",
  );
  clock.move(3_700_000);
  expect((await found("inbox", { store, clock })).join()).toContain(
    "An event waits for log-call for over an hour",
  );
});

test("disk: too little free space is a problem", async () => {
  const DATABASE_URL = `sqlite:${temporaryDirectory()}/not/there/receiver.db`;
  expect(await found("disk", { environment: { DATABASE_URL } })).toEqual([
    expect.stringMatching(/^ok: \d+ MiB are free in /),
  ]);
  const MIN_FREE_DISK_BYTES = String(Number.MAX_SAFE_INTEGER);
  expect(await found("disk", { environment: { DATABASE_URL, MIN_FREE_DISK_BYTES } })).toEqual([
    expect.stringMatching(/^problem: .*events are refused\. Make room\.$/),
  ]);
});

test("api: the key's owner, a wrong key, and a clock that is off are told apart", async () => {
  const { baseUrl } = await startRestService();
  const api = createRestClient({ baseUrl, key: API_KEY, pauseMs: 1 });
  const clock = movableClock();
  expect(await found("api", { api, clock })).toEqual([expect.stringMatching(/^ok: The key belongs to /)]);
  clock.move(-60_000);
  expect((await found("api", { api, clock }))[1]).toMatch(
    /^warning: This machine's clock is (?:59|60|61) s behind the service's/,
  );
  clock.move(660_000);
  expect((await found("api", { api, clock }))[1]).toMatch(/^problem: .*ahead of the service's\. Signatures/);
  const wrong = createRestClient({ baseUrl, key: "key_wrong", pauseMs: 1 });
  expect(await found("api", { api: wrong })).toEqual([expect.stringMatching(/^problem: .*Check API_KEY\.$/)]);
  expect(await found("api")).toEqual([expect.stringMatching(/^warning: .*reconcile cannot heal an outage/)]);
});

test("handlers: they are loaded in a process of their own, without the secrets, and a problem is one", async () => {
  const DATABASE_URL = `sqlite:${temporaryDirectory()}/receiver.db`;
  const { PATH = "" } = process.env;
  const environment = { PATH, DATABASE_URL, SIGNING_SECRET: SECRET, RECEIVER_ROLE: "all" };
  expect(await found("handlers", { environment })).toEqual([
    expect.stringMatching(/^ok: .+ can be started\.$/),
  ]);
  const broken = `data:text/javascript,if (process.argv[1]?.includes("load-handlers") && !process.env.SIGNING_SECRET) process.exit(7)`;
  expect(
    await found("handlers", {
      environment: {
        ...environment,
        NODE_OPTIONS: `--import=${broken.replaceAll(" ", "%20").replaceAll('"', "'")}`,
      },
    }),
  ).toEqual(["problem: They could not be started: their process ended, or took too long"]);
});
