import { expect, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { doctor, examine } from "../../../receiver/operations/doctor.ts";
import { createRestClient } from "../../../receiver/operations/rest-client.ts";
import type { Store } from "../../../receiver/store/port.ts";
import { movableClock } from "../helpers/clock.ts";
import { testConfig } from "../helpers/receiver.ts";
import { API_KEY, startRestService } from "../helpers/rest-service.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { openInbox } from "./inbox.ts";

const SECRET = "whsec_0123456789";

type Options = Partial<Parameters<typeof examine>[0]> & { environment?: Record<string, string> };

/** The findings of one check, as `level: message`. */
async function found(check: string, { environment = {}, ...options }: Options = {}): Promise<string[]> {
  const config = testConfig({ SIGNING_SECRET: SECRET, RECEIVER_ROLE: "ingest", ...environment });
  const nothing = { store: undefined, api: undefined, clock: systemClock };
  const findings = await examine({ config, environment, ...nothing, ...options });
  return findings.flatMap((one) => (one.check === check ? [`${one.level}: ${one.message}`] : []));
}

test("database: if it does not exist yet, it says how to begin; without its folder it is a problem", async () => {
  const folder = temporaryDirectory();
  const at = async (path: string) =>
    found("database", { environment: { DATABASE_URL: `sqlite:${folder}/${path}/receiver.db` } });
  expect((await at("data")).join()).toMatch(/^warning: No database is at .*then run `reconcile --since 7d`/);
  expect((await at("a/b")).join()).toMatch(/^problem: There is no folder/);
});

test("database: damage and a refusal of writes are problems", async () => {
  const store = await openInbox();
  expect(await found("database", { store })).toEqual(["ok: It is intact and accepts writes."]);
  const check = async (): Promise<string[]> => ["row 3 missing from index"];
  const damaged = await found("database", { store: { ...store, ledger: { ...store.ledger, check } } });
  const restore = /^problem: row 3 missing from index Stop the receiver and restore a backup/;
  expect(damaged).toEqual([expect.stringMatching(restore)]);
  const probe: Store["intake"]["probe"] = async () => ({ ok: false, reason: "read_only", detail: "no" });
  const refusing = await found("database", { store: { ...store, intake: { ...store.intake, probe } } });
  expect(refusing).toEqual(["problem: It does not accept writes (read_only): no"]);
});

test("disk: too little free space is a problem", async () => {
  const environment = { DATABASE_URL: `sqlite:${temporaryDirectory()}/not/there/receiver.db` };
  expect((await found("disk", { environment })).join()).toMatch(/^ok: \d+ MiB are free in /);
  const greedy = { ...environment, MIN_FREE_DISK_BYTES: String(Number.MAX_SAFE_INTEGER) };
  expect((await found("disk", { environment: greedy })).join()).toMatch(/^problem: .*Make room\.$/);
});

test("api: the key's owner, a wrong key, and a wrong clock are distinguished", async () => {
  const { baseUrl } = await startRestService();
  const api = createRestClient({ baseUrl, key: API_KEY, pauseMs: 1 });
  const clock = movableClock();
  expect(await found("api", { api, clock })).toEqual([expect.stringMatching(/^ok: The key belongs to /)]);
  clock.move(-60_000);
  const behind = /^warning: This machine's clock is (?:59|60|61) s behind the service's/;
  expect((await found("api", { api, clock }))[1]).toMatch(behind);
  clock.move(660_000);
  expect((await found("api", { api, clock }))[1]).toMatch(/^problem: .*ahead of the service's\. Signatures/);
  const wrong = createRestClient({ baseUrl, key: "key_wrong", pauseMs: 1 });
  expect((await found("api", { api: wrong })).join()).toMatch(/^problem: .*Check API_KEY\.$/);
  expect((await found("api")).join()).toMatch(/^warning: .*reconcile cannot recover lost events/);
});

test("the command exits 1 only for a problem, and asks the API that is set", async () => {
  const { baseUrl } = await startRestService();
  const { file } = await openInbox();
  const run = async (environment: Record<string, string>) =>
    doctor({
      config: testConfig({ RECEIVER_ROLE: "ingest", DATABASE_URL: `sqlite:${file}`, ...environment }),
    });
  const ok = await run({ API_BASE_URL: baseUrl, API_KEY });
  expect([ok.exitCode, ok.lines.at(-1)]).toEqual([
    0,
    expect.stringMatching(/^ok {7}api {7}The key belongs to /),
  ]);
  expect((await run({})).exitCode).toBe(0);
  expect((await run({ MIN_FREE_DISK_BYTES: String(Number.MAX_SAFE_INTEGER) })).exitCode).toBe(1);
});

test("handlers: they are loaded in their own process, without the secrets, and an error is a problem", async () => {
  const { PATH = "" } = process.env;
  const DATABASE_URL = `sqlite:${temporaryDirectory()}/receiver.db`;
  const environment = { PATH, DATABASE_URL, RECEIVER_ROLE: "all" };
  expect((await found("handlers", { environment })).join()).toMatch(/^ok: .+ can start\.$/);
  const source = `if (process.argv[1]?.includes("work/module") && !process.env.SIGNING_SECRET) process.exit(7)`;
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(source)}`;
  const broken = await found("handlers", {
    environment: { ...environment, RECEIVER_ROLE: "worker", SIGNING_SECRET: SECRET, NODE_OPTIONS },
  });
  expect(broken).toEqual(["problem: They cannot start: their process crashed or took too long"]);
});
