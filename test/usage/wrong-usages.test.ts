import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { systemClock as clock } from "../../receiver/clock.ts";
import { openStore } from "../../receiver/store/open.ts";
import { startSimulator, type RunningSimulator } from "../../simulator/index.ts";
import { run } from "../simulator/commands/in-process.ts";
import { runProgram, runReceiver } from "./receiver-in-process.ts";

/** Each wrong usage: the exit code, the words, and after => what the first line must name. */
const SIMULATOR = `
2 serv => serv
2 --verison => --verison
2 serve --port 70000 => 70000
3 serve --port {port} => {port}
3 serve --host no.such.host.invalid => no.such.host.invalid
2 serve --clock fast => real, skip, manual
2 serve --calls 1e9 => --calls
2 serve --colour => --colour
3 serve --data {dir}/typo/x.db => {dir}/typo
3 serve --data {dir}/newer.db => {dir}/newer.db
3 serve --data {dir}/text => {dir}/text
2 serve --forward-to localhost:3000 => --forward-to
2 serve --port 0 --forward-to http://example.com/x => https
2 serve --events call.complete => call.complete
2 serve --reading nothing=x => nothing
2 serve --fault sabotage => duplicate
2 dev --url localhost:3000 -- node => --url
2 verify => --secret
2 verify localhost:3000 => http://localhost:3000
2 verify http://localhost:1/w => SIGNING_SECRET
2 verify http://example.com/w --secret s => example.com
2 verify http://localhost:1/w --url http://localhost:2/w --secret s => http://localhost:2/w
2 verify http://localhost:1/w --secret s --only nonsense => nonsense
2 verify http://localhost:1/w --secret s --report pdf => pdf
2 verify http://localhost:1/w --secret s --level should => must, advice
2 verify http://localhost:1/w --secret s --observe http://localhost:1/ => {id}
2 verify http://localhost:1/w --secret @/no/such/file => /no/such/file
2 trigger => what
3 trigger call.completed --simulator http://127.0.0.1:1 => http://127.0.0.1:1
3 trigger call.completed --simulator http://127.0.0.1:{port} => http://127.0.0.1:{port}
2 trigger call.completed --simulator {sim} --org org_x => org_x
2 replay evt_x => evt_x
2 replay {dir}/nope.json => {dir}/nope.json
2 replay {dir}/bad.json => {dir}/bad.json cannot be read: it is not JSON (
2 replay call.completed --to http://localhost:1/x => SIGNING_SECRET
2 sign --secret s --body {} {dir}/bad.json => --body
2 explain --secret s --body {} => --header
2 explain --header t=1,v1=ab --secret s {dir}/nope => {dir}/nope
2 endpoints ad => add
2 endpoints rotate ep_x --overlap 90 => 90s
2 events show evt_x --simulator {sim} => evt_x
2 deliveries resend dlv_x --simulator {sim} => dlv_x
2 deliveries --state late => attempting
2 clock advance => clock advance
2 clock advance 367d --simulator {sim} => 366d
2 clock forward => forward
2 readings set limit_out_of_rang=clamp --simulator {sim} => "limit_out_of_range"
1 doctor --port {port} => {port}
3 health --simulator http://127.0.0.1:1 => http://127.0.0.1:1
2 mcp --simulator nonsense => nonsense
`;
/** The same for the receiver; settings stand before its words. */
const RECEIVER = `
2 SIGNING_SECRET_FILE={dir}/empty => SIGNING_SECRET_FILE
2 WEBHOOK_PATH=webhooks => WEBHOOK_PATH
2 WEBHOOK_PATH=/healthz => WEBHOOK_PATH
2 WEBHOOK_PATH=/a/../b => WEBHOOK_PATH
2 WEBHOOK_PATH=//x => WEBHOOK_PATH
2 RECEIVER_ROLE=both => all, ingest, worker
2 MAX_BODY_BYTES=1MB => MAX_BODY_BYTES
3 DATABASE_URL=sqlite:{dir}/typo/folder/r.db => {dir}/typo
3 DATABASE_URL=sqlite:{dir}/newer.db => {dir}/newer.db
3 DATABASE_URL=sqlite:{dir}/text => {dir}/text
3 HOST=no.such.host.invalid => no.such.host.invalid
3 HOST=192.0.2.1 => 192.0.2.1
2 DATABASE_URL=postgres://u:a%zz@h/db => DATABASE_URL is not an address
3 DATABASE_URL=sqlite:{dir}/damaged.db inbox stats => the database cannot be used
1 DATABASE_URL=sqlite:{dir}/damaged.db RECEIVER_ROLE=ingest SIGNING_SECRET=whsec_0123456789 doctor => restore a backup
2 DATABASE_URL=sqlite:{dir}/inbox.db backup {dir}/empty => {dir}/empty
3 DATABASE_URL=sqlite:{dir}/damaged.db backup {dir}/part.db => {dir}/part.db could not be written: SqliteError
3 DATABASE_URL=sqlite:{dir}/inbox.db backup {dir}/text/copy.db => {dir}/text/copy.db'. Fix the path
3 DATABASE_URL=sqlite:{dir}/inbox.db backup {dir}/none/copy.db => {dir}/none/copy.db
2 strat => strat
2 start now => now
2 inbox list --state late => choices are waiting, running, done, dead, ignored, pruned
2 inbox show => event_id
2 inbox list --limit 0 => whole number from 1 to 99999
2 reconcile --since x => duration such as 30m
2 DATABASE_URL=sqlite:{dir}/inbox.db reconcile => API_BASE_URL
2 move --to sqlite:x => postgres://host/database
2 DATABASE_URL=postgres://h/db move --to postgres://h/db => name the SQLite file
3 DATABASE_URL=sqlite:{dir}/none.db move --to postgres://h/db => {dir}/none.db
3 DATABASE_URL=sqlite:{dir}/newer.db move --to postgres://h/db => cannot open the inbox: {dir}/newer.db is not
3 DATABASE_URL=sqlite:{dir}/inbox.db move --to postgres://127.0.0.1:1/db => --to: connect ECONNREFUSED 127.0.0.1:1
0 --help => Usage: voice-agent-receiver
3 PORT=1 health => http://127.0.0.1:1
`;
const FORK = `
2 => folder
2 --frok x => --frok
2 {dir}/full => {dir}/full is not empty
2 {dir}/none --upgrade => {dir}/none
2 {dir}/full --upgrade => kit
`;
const GOOD_SETTINGS = { SIGNING_SECRET: "whsec_x", PORT: "0", ADMIN_PORT: "0" };

let folder: string;
let simulator: RunningSimulator;
let other: Server;

beforeAll(async () => {
  vi.stubEnv("SIGNING_SECRET", undefined);
  folder = mkdtempSync(join(tmpdir(), "usage-"));
  mkdirSync(join(folder, "folder"));
  mkdirSync(join(folder, "full/of/something"), { recursive: true });
  writeFileSync(join(folder, "empty"), "");
  writeFileSync(join(folder, "bad.json"), "{");
  writeFileSync(join(folder, "text"), "this is no database ".repeat(500));
  const newer = new Database(join(folder, "newer.db"));
  newer.pragma("user_version = 99");
  newer.close();
  const inbox = join(folder, "inbox.db");
  await (await openStore({ databaseFile: inbox, clock, isWorker: false, onFatal: console.error })).close();
  const bytes = readFileSync(inbox);
  writeFileSync(join(folder, "damaged.db"), bytes.fill(0xff, 2 * 4_096));
  simulator = await startSimulator({ calls: 0, seed: 7 });
  other = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await simulator.close();
  other.close();
  rmSync(folder, { recursive: true, force: true });
});

const rowsOf = (table: string) =>
  table
    .trim()
    .split("\n")
    .map((line) => /^(\d) ?(.*) => (.+)$/.exec(line)?.slice(1) ?? [])
    .map(([code = "", words = "", name = ""]) => [words, Number(code), name] as const);

/** Fills in the paths that are known only when the test runs. */
function filled(text: string): string {
  const { port } = other.address() as AddressInfo;
  return text
    .replaceAll("{dir}", folder)
    .replaceAll("{port}", String(port))
    .replaceAll("{sim}", simulator.url);
}

const wordsOf = (text: string): string[] => (text === "" ? [] : filled(text).split(" "));

/** The files, without an inbox that the receiver opened, and SQLite's files next to a database that is read. */
const filesThere = (): string[] =>
  readdirSync(folder).filter((name) => !/^receiver\.|-(?:shm|wal)$/.test(name));

/** Runs a program with words that it refuses: it exits with the code, names what is wrong first, and leaves no file. */
async function expectRefusal(
  ran: () => Promise<{ code: number; out: string; err: string }>,
  [, code, name]: readonly [string, number, string],
): Promise<void> {
  const before = filesThere();
  const { code: ended, out, err } = await ran();
  const [first] = (err === "" ? out : err).split("\n");
  expect(first).toContain(filled(name));
  expect(ended).toBe(code);
  expect(out + err).not.toMatch(/\n {4}at /);
  expect(filesThere()).toEqual(before);
}

test.each(rowsOf(SIMULATOR))("voice-agent-simulator %s", async (...row) => {
  await expectRefusal(async () => run(...wordsOf(row[0])), row);
});

test.each(rowsOf(RECEIVER))("voice-agent-receiver: %s", async (...row) => {
  const words = wordsOf(row[0]);
  const settings = words
    .filter((word) => /^[A-Z_]+=/.test(word))
    .map((word) => word.split(/=(.*)/s).slice(0, 2));
  const listening = listenersOfProcess();
  const ran = async () =>
    runReceiver(words.slice(settings.length), {
      ...GOOD_SETTINGS,
      DATABASE_URL: `sqlite:${folder}/receiver.db`,
      ...Object.fromEntries(settings),
    });
  await expectRefusal(ran, row);
  expect(listenersOfProcess()).toEqual(listening);
});

const fork = async () => import("../../tools/fork.ts");

test.each(rowsOf(FORK))("npm run fork -- %s", async (...row) => {
  await expectRefusal(async () => runProgram(fork, wordsOf(row[0]), {}), row);
});

test("the path of a fork is relative to where npm was called, not to the kit", async () => {
  const { err } = await runProgram(fork, ["full"], { INIT_CWD: folder });
  expect(err).toContain(`${folder}/full is not empty`);
});

function listenersOfProcess(): number[] {
  const events = [
    "SIGINT",
    "SIGTERM",
    "SIGHUP",
    "SIGQUIT",
    "SIGUSR2",
    "uncaughtException",
    "unhandledRejection",
  ];
  return events.map((event) => process.listenerCount(event));
}
