import { statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import * as commands from "../../../receiver/operations/commands/inbox.ts";
import { health } from "../../../receiver/operations/commands/start.ts";
import { openSqliteStore } from "../../../receiver/store/sqlite.ts";
import { listen } from "../../helpers/listen.ts";
import { newEventId } from "../helpers/events.ts";
import { runCommand } from "../helpers/process.ts";
import { testConfig } from "../helpers/receiver.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { dead, openInbox } from "./inbox.ts";

async function begin(clock = systemClock) {
  const store = await openInbox(undefined, clock);
  return { inbox: store, context: { store, config: testConfig() } };
}

test("list shows one line per event, with the state of the named handler's job", async () => {
  const { inbox, context } = await begin();
  const id = await inbox.handled(dead("HTTP 500"));
  await inbox.handled({ kind: "done" });
  const listed = await commands.listInbox(context, { state: "dead", handler: "log-call", limit: 50 });
  const line = new RegExp(`^dead {5}\\S+Z {2}call\\.completed {5}${id} {2}1 attempt {2}HTTP 500$`);
  expect(listed).toMatchObject({ lines: [expect.stringMatching(line)], notes: [] });
  expect(listed.json).toMatchObject({ object: "list", data: [{ id, state: "dead" }] });
  const { notes } = await commands.listInbox(context, { type: "x", limit: 2 });
  expect(notes).toEqual(["No event matches."]);
});

test("show prints everything about an event, and refuses an unknown one", async () => {
  const { inbox, context } = await begin();
  const id = await inbox.handled(dead("HTTP 500"));
  const shown = await commands.showEvent(context, id, {});
  expect(shown).toMatchObject({ json: { id, jobs: [{ errors: [{ error: "HTTP 500" }] }] } });
  const refused = { name: "Refused", exitCode: 2 };
  await expect(commands.showEvent(context, newEventId(), {})).rejects.toMatchObject(refused);
});

test("requeue takes events by name, by state, or all since a time for a new handler", async () => {
  const { inbox, context } = await begin({ ...systemClock, nowMs: () => systemClock.nowMs() - 300_000 });
  const [first, second] = [await inbox.handled(dead("a")), await inbox.handled(dead("b"))];
  const unknown = Array.from({ length: 200 }, newEventId);
  const named = await commands.requeueEvents(context, [...unknown, first], {});
  expect(named).toMatchObject({ exitCode: 1, json: { requeued: 1, left: 200 } });
  expect((await inbox.ledger.find(second))?.state).toBe("dead");
  const all = await commands.requeueEvents(context, [], { state: "dead" });
  expect(all).toMatchObject({ exitCode: 0, json: { requeued: 1, left: 0 }, notes: [] });

  const earlier = await inbox.stored({ type: "agent.created" });
  await inbox.close();
  const later = await openInbox({ agents: "agent.created" }, systemClock, inbox.file);
  const requeued = async (since: number): Promise<unknown> =>
    (await commands.requeueEvents({ ...context, store: later }, [], { handler: "agents", since })).json;
  expect(await requeued(299)).toEqual({ requeued: 0, left: 0 });
  expect(await requeued(600)).toEqual({ requeued: 1, left: 0 });
  expect(await later.ledger.find(earlier)).toMatchObject({ jobs: [{ handler: "agents", state: "waiting" }] });
});

test("requeue of dead jobs leaves discarded jobs of the same events", async () => {
  const inbox = await openInbox({ crm: "call.completed", "log-call": "call.completed" });
  const id = await inbox.handled(dead("a"));
  await inbox.ledger.discard([id], { handler: "crm", reason: "test call" });
  const context = { store: inbox, config: testConfig() };
  const listed = await commands.listInbox(context, { handler: "crm", limit: 5 });
  expect(listed.lines).toEqual([expect.stringMatching(/^ignored .* 0 attempts {2}test call$/)]);
  await commands.requeueEvents(context, [], { state: "dead" });
  const jobs = [
    { handler: "crm", state: "ignored" },
    { handler: "log-call", state: "waiting" },
  ];
  expect(await inbox.ledger.find(id)).toMatchObject({ jobs });
});

test.each([
  [[], {}, "name the events"],
  [[], { handler: "log-call" }, "name the events"],
  [["evt_1"], { state: "dead" }, "not both"],
  [["evt_1"], { handler: "crm" }, "Handlers: kitchen, log-call."],
] as const)("requeue of %o with %o is refused", async (ids, options, why) => {
  await expect(commands.requeueEvents((await begin()).context, ids, options)).rejects.toThrow(why);
});

test("discard ends the jobs of one handler with the reason", async () => {
  const { inbox, context } = await begin();
  const [failed, done] = [await inbox.handled(dead("a")), await inbox.handled({ kind: "done" })];
  const options = { handler: "log-call", reason: "test call" };
  const discarded = await commands.discardEvents(context, [failed], options);
  expect(discarded).toMatchObject({ exitCode: 0, json: { discarded: 1, left: 0 } });
  const jobs = [{ lastError: "test call" }];
  expect(await inbox.ledger.find(failed)).toMatchObject({ state: "ignored", jobs });
  const nothing = await commands.discardEvents(context, [done], options);
  expect(nothing).toMatchObject({ exitCode: 1, json: { discarded: 0, left: 1 } });
});

test("prune deletes what retention has passed, and stats counts by handler and cause", async () => {
  const { inbox, context } = await begin();
  await inbox.handled({ kind: "done" });
  expect((await commands.pruneInbox(context)).json).toEqual({ bodies: 0, ids: 0 });
  await inbox.handled(dead("customer 1234567 is unknown"));
  const { lines, json } = await commands.inboxStatistics(context);
  expect(lines).toEqual([
    "kitchen: nothing waits",
    "log-call: 1 dead",
    "1 dead of log-call: customer <number> is unknown",
    "2 events are known; no handler wanted 0 of them.",
  ]);
  const calls = { handler: "log-call", dead: 1, oldest_unfinished_at: null };
  expect(json).toMatchObject({ handlers: [{ handler: "kitchen" }, calls] });
});

test("backup writes a copy that opens, for its owner alone", async () => {
  const mask = process.umask();
  onTestFinished(() => void process.umask(mask));
  const { inbox, context } = await begin();
  const id = await inbox.stored();
  const file = join(temporaryDirectory(), "copy.db");
  expect(await commands.backup(context, file)).toMatchObject({ lines: [file] });
  expect(statSync(file).mode & (process.platform === "win32" ? 0 : 0o077)).toBe(0);
  const copy = await openSqliteStore({ file, clock: systemClock, isWorker: false, onFatal: () => undefined });
  expect((await copy.ledger.find(id))?.id).toBe(id);
  await copy.close();
  const { backup: _, ...ledger } = inbox.ledger;
  const onServer = commands.backup({ ...context, store: { ...inbox, ledger } }, `${file}-2`);
  await expect(onServer).rejects.toThrow("PostgreSQL's own tools");
  // SQLite takes an empty name as a database in memory, and would overwrite an existing file.
  for (const name of ["", file])
    await expect(commands.backup(context, name)).rejects.toMatchObject({ name: "Refused", exitCode: 2 });
});

test("health exits 0 if all is well, 1 if something is wrong, and 3 if nothing answers", async () => {
  let answer: { status: string; checks: object } = { status: "ready", checks: { database: "ok" } };
  const server = createServer((_request, response) => void response.end(JSON.stringify(answer)));
  const { port, close } = await listen(server);
  const asked = async () => health({ config: testConfig({ PORT: String(port) }) });
  expect(await asked()).toMatchObject({ lines: ["ready"] });
  const ofWorker = testConfig({ RECEIVER_ROLE: "worker", PORT: "1", ADMIN_PORT: String(port) });
  expect(await health({ config: ofWorker })).toMatchObject({ lines: ["ready"] });
  answer = { status: "ready", checks: { database: "ok", handlers: "broken" } };
  const broken = "takes events, but: handlers broken";
  expect(await asked()).toMatchObject({ exitCode: 1, lines: [broken] });
  answer = { status: "not_ready", checks: { database: "full" } };
  expect(await asked()).toMatchObject({ exitCode: 1, lines: ["not ready: database full"] });
  await close();
  await expect(asked()).rejects.toMatchObject({ name: "Refused", exitCode: 3 });
});

test("the program writes bodies as they came, and redacts them otherwise", async () => {
  const { inbox } = await begin();
  // Pruned events are left out, but not the ones after them.
  await inbox.handled({ kind: "done" });
  await inbox.ledger.prune({ bodiesMs: systemClock.nowMs() + 1_000, idsMs: 0 });
  const id = newEventId();
  const text = `{"id":"${id}", "type":"call.completed",\n"data":{"object":{"phone":"+12125550123","n":[9007199254740993,-0,1e9999,1.50],"a":1,"a":2}}}`;
  await inbox.stored({ id, body: Buffer.from(text) });
  const run = async (...words: string[]) =>
    runCommand(["inbox", ...words], { DATABASE_URL: `sqlite:${inbox.file}` });
  expect((await run("show", id, "--body")).stdout).toContain(`"envelope":${text}}\n`);
  const stdout = `${text.replace("\n", " ")}\n`;
  expect(await run("export", "--include-personal-data")).toEqual({ code: 0, stdout, stderr: "" });
  const redacted: unknown = JSON.parse((await run("export")).stdout);
  expect(redacted).toMatchObject({ id, data: { object: { phone: "+10000000000", a: 2 } } });
});

test.each([
  [["inbox", "lst"], 2, /unknown command 'lst'[^]*Did you mean list\?/],
  [["inbox", "stats"], 3, /voice-agent-receiver: there is no inbox at .* yet\./],
  [["start"], 2, /voice-agent-receiver: SIGNING_SECRET is missing\. Set it /],
] as const)("the program given %o exits %i with one line that says what to do", async (words, code, said) => {
  const DATABASE_URL = `sqlite:${temporaryDirectory()}/receiver.db`;
  const ended = await runCommand(words, { DATABASE_URL });
  expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(said) });
  expect(ended.stderr).not.toMatch(/^ {4}at /m);
});

test("with --json the program prints JSON without control characters", async () => {
  const { inbox } = await begin();
  const error = "\u001B[2J ##vso[task]";
  const id = await inbox.handled(dead(error));
  const environment = { DATABASE_URL: `sqlite:${inbox.file}` };
  const listed = await runCommand(["inbox", "list", "--json"], environment);
  expect(JSON.parse(listed.stdout)).toMatchObject({ data: [{ id, last_error: error }] });
  const plain = await runCommand(["inbox", "list"], environment);
  for (const { stdout } of [listed, plain]) expect(stdout).toMatch(/^[\x20-\x7e]+\n$/);
  expect(plain.stdout).not.toContain("##vso");
});
