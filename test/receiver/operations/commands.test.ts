import { createServer } from "node:http";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../../receiver/config.ts";
import { backup, health } from "../../../receiver/operations/commands/care.ts";
import * as commands from "../../../receiver/operations/commands/inbox.ts";
import { openSqliteStore } from "../../../receiver/store/sqlite.ts";
import { systemClock } from "../../../receiver/clock.ts";
import { listen } from "../../helpers/listen.ts";
import { newEventId, SECRET } from "../helpers/events.ts";
import { runCommand } from "../helpers/process.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { dead, openInbox, type Inbox } from "./inbox.ts";

function context(store: Inbox, environment: Record<string, string> = {}) {
  const loaded = loadConfig({ SIGNING_SECRET: SECRET, ...environment });
  if (!loaded.ok) throw new Error(loaded.problems.join());
  return { config: loaded.config, store };
}

describe("inbox", () => {
  test("list shows a line an event, by the job of the handler that is named", async () => {
    const inbox = await openInbox();
    const id = await inbox.handled(dead("HTTP 500"));
    await inbox.handled({ kind: "done" });
    const listed = await commands.listInbox(context(inbox), {
      state: "dead",
      handler: "log-call",
      limit: 50,
    });
    expect(listed.lines).toEqual([
      expect.stringMatching(
        new RegExp(`^dead {5}\\S+Z {2}call\\.completed {5}${id} {2}1 attempt {2}HTTP 500$`),
      ),
    ]);
    expect(listed.json).toMatchObject({ object: "list", data: [{ id, state: "dead" }] });
    expect((await commands.listInbox(context(inbox), { limit: 2 })).notes).toEqual([
      expect.stringContaining("--limit"),
    ]);
    expect((await commands.listInbox(context(inbox), { type: "x", limit: 2 })).notes).toEqual([
      "No event matches.",
    ]);
  });

  test("show tells all of one event, and refuses one that is not there", async () => {
    const inbox = await openInbox();
    const id = await inbox.handled(dead("HTTP 500"));
    const shown = await commands.showEvent(context(inbox), id, {});
    expect(shown).toMatchObject({
      json: { id, jobs: [{ errors: [{ error: "HTTP 500" }] }] },
    });
    await expect(commands.showEvent(context(inbox), newEventId(), {})).rejects.toMatchObject({
      name: "Refused",
      exitCode: 2,
    });
  });

  test("requeue takes events by name, by state, or all since a time for a new handler", async () => {
    const inbox = await openInbox();
    const [first, second] = [await inbox.handled(dead("a")), await inbox.handled(dead("b"))];
    const named = await commands.requeueEvents(context(inbox), [first, newEventId()], {});
    expect(named).toMatchObject({ exitCode: 1, json: { requeued: 1, left: 1 } });
    expect((await inbox.ledger.find(second))?.state).toBe("dead");
    expect(await commands.requeueEvents(context(inbox), [], { state: "dead" })).toMatchObject({
      exitCode: 0,
      json: { requeued: 1, left: 0 },
      notes: [],
    });

    const earlier = await inbox.stored({ type: "agent.created" });
    await inbox.close();
    const later = await openInbox({ agents: "agent.created" }, systemClock, inbox.file);
    const requeued = async (since: number): Promise<unknown> => {
      const { json } = await commands.requeueEvents(context(later), [], { handler: "agents", since });
      return json;
    };
    expect(await requeued(0)).toEqual({ requeued: 0, left: 0 });
    expect(await requeued(600)).toEqual({ requeued: 1, left: 0 });
    expect(await later.ledger.find(earlier)).toMatchObject({
      jobs: [{ handler: "agents", state: "waiting" }],
    });
  });

  test.each([
    [[], {}, "name the events"],
    [[], { handler: "log-call" }, "name the events"],
    [["evt_1"], { state: "dead" }, "not both"],
    [["evt_1"], { handler: "crm" }, "There are: kitchen, log-call."],
  ] as const)("requeue of %o with %o is refused", async (ids, options, why) => {
    await expect(commands.requeueEvents(context(await openInbox()), ids, options)).rejects.toThrow(why);
  });

  test("discard ends the jobs of one handler with the reason", async () => {
    const inbox = await openInbox();
    const [waiting, done] = [await inbox.handled(dead("a")), await inbox.handled({ kind: "done" })];
    const options = { handler: "log-call", reason: "test call" };
    expect(await commands.discardEvents(context(inbox), [waiting], options)).toMatchObject({
      exitCode: 0,
      json: { discarded: 1, left: 0 },
    });
    expect(await inbox.ledger.find(waiting)).toMatchObject({
      state: "ignored",
      jobs: [{ lastError: "test call" }],
    });
    expect(await commands.discardEvents(context(inbox), [done], options)).toMatchObject({
      exitCode: 1,
      json: { discarded: 0, left: 1 },
    });
  });

  test("prune deletes what retention has passed, and stats counts by handler and cause", async () => {
    const inbox = await openInbox();
    await inbox.handled({ kind: "done" });
    expect((await commands.pruneInbox(context(inbox))).json).toEqual({ bodies: 0, ids: 0 });
    await inbox.handled(dead("customer 1234567 is unknown"));
    const { lines, json } = await commands.inboxStatistics(context(inbox));
    expect(lines).toEqual([
      "kitchen: nothing waits",
      "log-call: 1 dead",
      "1 dead of log-call: customer <number> is unknown",
      "2 events are known; no handler wanted 0 of them.",
    ]);
    expect(json).toMatchObject({
      handlers: [{ handler: "kitchen" }, { handler: "log-call", dead: 1, oldest_unfinished_at: null }],
    });
  });
});

test("backup writes a copy that opens, for its owner alone", async () => {
  const inbox = await openInbox();
  const id = await inbox.stored();
  const file = join(temporaryDirectory(), "copy.db");
  expect(await backup(context(inbox), file)).toMatchObject({ lines: [file] });
  expect(statSync(file).mode & (process.platform === "win32" ? 0 : 0o077)).toBe(0);
  const copy = await openSqliteStore({ file, clock: systemClock, isWorker: false, onFatal: () => undefined });
  expect((await copy.ledger.find(id))?.id).toBe(id);
  await copy.close();
});

test("health is 0 when all is well, 1 when something is not, and 3 when nothing answers", async () => {
  let checks: Record<string, string> = { database: "ok" };
  let status = "ready";
  const { port, close } = await listen(
    createServer((_request, response) => void response.end(JSON.stringify({ status, checks }))),
  );
  const inbox = await openInbox();
  const asked = async () => health(context(inbox, { PORT: String(port) }));
  expect(await asked()).toMatchObject({ exitCode: 0, lines: ["ready"] });
  checks = { database: "ok", handlers: "could not be started" };
  expect(await asked()).toMatchObject({
    exitCode: 1,
    lines: ["takes events, but: handlers could not be started"],
  });
  status = "not_ready";
  checks = { database: "full" };
  expect(await asked()).toMatchObject({ exitCode: 1, lines: ["not ready: database full"] });
  await close();
  await expect(asked()).rejects.toMatchObject({ name: "Refused", exitCode: 3 });
});

describe("the program", () => {
  test("writes bodies as they came, redacts them otherwise, and ends quietly with its reader", async () => {
    const inbox = await openInbox();
    const id = newEventId();
    const text = `{"id":"${id}", "type":"call.completed",\n"data":{"object":{"phone":"+12125550123","n":[9007199254740993,-0,1e9999,1.50],"a":1,"a":2}}}`;
    await inbox.stored({ id, body: Buffer.from(text) });
    const DATABASE_URL = `sqlite:${inbox.file}`;
    const shown = await runCommand(["inbox", "show", id, "--body"], { DATABASE_URL });
    expect(shown.stdout).toContain(`"envelope":${text}}\n`);
    const whole = await runCommand(["inbox", "export", "--include-personal-data"], { DATABASE_URL });
    expect(whole).toEqual({ code: 0, stdout: `${text.replace("\n", " ")}\n`, stderr: "" });
    const redacted = await runCommand(["inbox", "export"], { DATABASE_URL });
    expect(redacted.stdout).toBe(`${text.replace("\n", " ").replace("+12125550123", "+10000000000")}\n`);
  });

  test.each([
    [["inbox", "lst"], 2, /unknown command 'lst'[^]*Did you mean list\?/],
    [
      ["inbox", "list", "--state", "lost"],
      2,
      /Allowed choices are waiting, running, done, dead, ignored, pruned/,
    ],
    [["inbox", "list", "--limit", "0"], 2, /whole number/],
    [["reconcile", "--since", "7"], 2, /duration such as 30m/],
    [["inbox", "stats"], 3, /voice-agent-receiver: there is no inbox at .* yet\./],
    [["start"], 2, /voice-agent-receiver: SIGNING_SECRET: is missing/],
  ] as const)("%o exits %i in a line", async (words, code, said) => {
    const DATABASE_URL = `sqlite:${temporaryDirectory()}/receiver.db`;
    const ended = await runCommand(words, { DATABASE_URL });
    expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(said) });
    expect(ended.stderr).not.toMatch(/^ {4}at /m);
  });

  test("prints JSON when it is asked for, with nothing that steers a terminal", async () => {
    const inbox = await openInbox();
    const id = await inbox.handled(dead("\u001B[2J ##vso[task]"));
    const DATABASE_URL = `sqlite:${inbox.file}`;
    const listed = await runCommand(["inbox", "list", "--json"], { DATABASE_URL });
    expect(JSON.parse(listed.stdout)).toMatchObject({ data: [{ id, last_error: "\u001B[2J ##vso[task]" }] });
    expect(listed.stdout).toMatch(/^[\x20-\x7e]+\n$/);
    const plain = await runCommand(["inbox", "list"], { DATABASE_URL });
    expect(plain.stdout).toMatch(/^[\x20-\x7e]+\n$/);
    expect(plain.stdout).not.toContain("##vso");
  });
});
