import { describe, expect, test } from "vitest";
import {
  exportEvents,
  inboxStatistics,
  listInbox,
  pruneInbox,
  requeueEvents,
  showEvent,
} from "../../receiver/operations/commands/inbox.ts";
import { runReconcile } from "../../receiver/operations/commands/reconcile.ts";
import { onEngine, orComplain } from "../../receiver/operations/commands/with-engine.ts";
import type { Claim, Engine, Outcome } from "../../receiver/engine.ts";
import { envelopeSchema } from "../../shared/events.ts";
import { sampleVoicemail } from "../../shared/samples.ts";
import { runReceiver } from "../usage/receiver-in-process.ts";
import { handler, newEvent, newEvents } from "./engine-suite/harness.ts";
import { idOf, newBody, newEventId, post } from "./helpers/events.ts";
import { startTestReceiver, testConfig } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { API_KEY, makeCalls, startRestService } from "./helpers/rest-service.ts";
import { recordingTerminal } from "./helpers/terminal.ts";
import { until } from "./helpers/until.ts";

/** An inbox with one event in each of three states. */
async function setUp() {
  const { engine, url, config } = await startTestReceiver();
  const bodies = {
    done: newBody("call.completed"),
    dead: newBody("voicemail.created"),
    ignored: newBody("call.completed", { type: "call.pondered" }),
  };
  for (const body of Object.values(bodies)) await post(url, body);
  const stop = await handleAll(engine, ({ type, handler: name }) =>
    type === "voicemail.created" && name === "mail"
      ? { kind: "dead", error: "the number is wrong" }
      : { kind: "done" },
  );
  await stop();
  return {
    engine,
    config,
    url,
    ids: { done: idOf(bodies.done), dead: idOf(bodies.dead), ignored: idOf(bodies.ignored) },
    bodies,
  };
}

const MAIL = handler({ name: "mail", types: ["voicemail.created", "call.completed"] });
const STORE = handler({ name: "store", types: ["voicemail.created"] });

async function handleAll(engine: Engine, outcomeOf: (claim: Claim) => Outcome, handlers = [MAIL, STORE]) {
  const processor = await engine.work.process({
    handlers,
    workerId: "test",
    handle: async (claim) => outcomeOf(claim),
    concurrency: 4,
    onHandled: () => undefined,
    onTrouble: (error) => {
      throw error;
    },
  });
  await until(
    () => engine.ledger.counts(),
    ({ byState }) => byState.pending + byState.claimed === 0,
  );
  return async () => processor.drain(0);
}

test("all dead events are requeued, however many pages of them there are", async () => {
  const { engine } = await startTestReceiver();
  const events = Array.from({ length: 501 }, () => ({
    id: newEventId(),
    type: "call.completed",
    objectId: null,
    source: "webhook" as const,
    trace: null,
    body: Buffer.from("{}"),
  }));
  await engine.intake.accept(events);
  const stop = await handleAll(engine, () => ({ kind: "dead", error: "the number is wrong" }));
  await stop();
  const terminal = recordingTerminal();
  expect(await requeueEvents({ engine, terminal }, [], { state: "dead", json: true })).toBe(0);
  expect(JSON.parse(terminal.printed[0]!)).toEqual({ requeued: 501, left: 0 });
  expect((await engine.ledger.counts()).byState).toMatchObject({ dead: 0, pending: 501 });
});

test("all events that are named are requeued, however many pages of them there are", async () => {
  const { engine } = await startTestReceiver();
  const events = newEvents(501);
  await engine.intake.accept(events);
  await (
    await handleAll(engine, () => ({ kind: "dead", error: "the number is wrong" }), [
      handler({ name: "all" }),
    ])
  )();
  const terminal = recordingTerminal();
  const ids = events.map(({ id }) => id);
  expect(await requeueEvents({ engine, terminal }, ids, { json: true })).toBe(0);
  expect(JSON.parse(terminal.printed[0]!)).toEqual({ requeued: 501, left: 0 });
});

describe("inbox", () => {
  test("list shows the newest first, of a state when asked, as lines or as JSON", async () => {
    const { engine, ids } = await setUp();
    const lines = recordingTerminal();
    expect(await listInbox({ engine, terminal: lines }, { limit: 50 })).toBe(0);
    expect(lines.printed.map((line) => /evt_[0-9a-f]+/.exec(line)?.[0])).toEqual([
      ids.ignored,
      ids.dead,
      ids.done,
    ]);
    expect(lines.printed[1]).toContain("the number is wrong");
    const json = recordingTerminal();
    await listInbox({ engine, terminal: json }, { limit: 50, state: "dead", json: true });
    expect(JSON.parse(json.printed[0]!)).toMatchObject({
      object: "list",
      data: [{ id: ids.dead, state: "dead" }],
    });
  });

  test("show says all about one event, and that it knows no other", async () => {
    const { engine, ids } = await setUp();
    const shown = recordingTerminal();
    expect(await showEvent({ engine, terminal: shown }, ids.dead, { body: true })).toBe(0);
    expect(JSON.parse(shown.printed[0]!)).toMatchObject({
      state: "dead",
      envelope: { id: ids.dead, type: "voicemail.created" },
    });
    expect(shown.said.join()).toContain(`inbox requeue ${ids.dead}`);
    const missing = recordingTerminal();
    expect(
      await orComplain(missing, async () => showEvent({ engine, terminal: missing }, newEventId(), {})),
    ).toBe(2);
    expect(missing.said).toHaveLength(1);
  });

  test("requeue takes events by name or by state, and leaves what is done", async () => {
    const { engine, ids } = await setUp();
    await expect(requeueEvents({ engine, terminal: recordingTerminal() }, [], {})).rejects.toMatchObject({
      exitCode: 2,
    });
    const named = recordingTerminal();
    expect(await requeueEvents({ engine, terminal: named }, [ids.done], {})).toBe(1);
    expect(named.printed).toEqual(["0 requeued."]);
    const all = recordingTerminal();
    expect(await requeueEvents({ engine, terminal: all }, [], { state: "dead" })).toBe(0);
    expect(all.printed).toEqual(["1 requeued."]);
    expect((await engine.ledger.find(ids.dead))!.jobs).toMatchObject([
      { handler: "mail", state: "pending", attempts: 0 },
      { handler: "store", state: "done", attempts: 1 },
    ]);
    expect(await engine.ledger.find(ids.ignored)).toMatchObject({ state: "ignored" });
  });

  test("show lists an event's jobs, and list looks at one handler's", async () => {
    const { engine, ids } = await setUp();
    const shown = recordingTerminal();
    await showEvent({ engine, terminal: shown }, ids.dead, { json: true });
    expect(JSON.parse(shown.printed[0]!)).toMatchObject({
      state: "dead",
      jobs: [
        { handler: "mail", state: "dead", attempts: 1, handled: 0, last_error: "the number is wrong" },
        { handler: "store", state: "done", attempts: 1, handled: 1, last_error: null, next_attempt_at: null },
      ],
    });
    const lines = recordingTerminal();
    await listInbox({ engine, terminal: lines }, { limit: 50, handler: "store" });
    expect(lines.printed).toHaveLength(1);
    expect(lines.printed[0]).toContain(ids.dead);
    expect(lines.printed[0]).not.toContain("the number is wrong");
    const dead = recordingTerminal();
    await listInbox({ engine, terminal: dead }, { limit: 50, handler: "store", state: "dead" });
    expect(dead.printed).toEqual([]);
  });

  test("requeue gives a handler what came before it when it is asked to, and knows its name", async () => {
    const { engine, ids } = await setUp();
    const unknown = recordingTerminal();
    expect(
      await orComplain(unknown, async () =>
        requeueEvents({ engine, terminal: unknown }, [], { handler: "crm", since: 1e9 }),
      ),
    ).toBe(2);
    expect(unknown.said.join()).toMatch(/crm.*mail, store/);
    await expect(
      requeueEvents({ engine, terminal: recordingTerminal() }, [], { handler: "mail" }),
    ).rejects.toMatchObject({ exitCode: 2 });
    const crm = handler({ name: "crm", types: ["call.completed", "call.pondered"] });
    await (
      await handleAll(engine, () => ({ kind: "done" }), [MAIL, STORE, crm])
    )();
    const late = recordingTerminal();
    expect(await requeueEvents({ engine, terminal: late }, [], { handler: "crm", since: -60 })).toBe(0);
    expect(late.printed).toEqual(["0 requeued."]);
    const since = recordingTerminal();
    expect(await requeueEvents({ engine, terminal: since }, [], { handler: "crm", since: 1e9 })).toBe(0);
    expect(since.printed).toEqual(["2 requeued."]);
    const seen: string[] = [];
    const stop = await handleAll(
      engine,
      (claim) => {
        seen.push(`${claim.handler} ${claim.id}`);
        return { kind: "done" };
      },
      [MAIL, STORE, crm],
    );
    await stop();
    expect(seen.toSorted()).toEqual([`crm ${ids.done}`, `crm ${ids.ignored}`].toSorted());
    const named = recordingTerminal();
    expect(await requeueEvents({ engine, terminal: named }, [ids.dead], { handler: "store" })).toBe(1);
    expect(await requeueEvents({ engine, terminal: named }, [ids.dead], { handler: "mail" })).toBe(0);
  });

  test("export writes envelopes, oldest first, redacted unless told not to", async () => {
    const { engine, ids, bodies } = await setUp();
    const redacted = recordingTerminal();
    await exportEvents({ engine, terminal: redacted }, {});
    const envelopes = redacted.printed.map((line) => envelopeSchema.parse(JSON.parse(line)));
    expect(envelopes.map(({ id }) => id)).toEqual([ids.done, ids.dead, ids.ignored]);
    expect(redacted.printed.join()).not.toContain(sampleVoicemail.phone);
    expect(redacted.printed.join()).not.toContain(sampleVoicemail.message_text);
    const full = recordingTerminal();
    await exportEvents({ engine, terminal: full }, { type: "voicemail.created", includePersonalData: true });
    expect(full.printed.map((line) => JSON.parse(line) as unknown)).toEqual([
      JSON.parse(bodies.dead.toString()),
    ]);
    const recent = recordingTerminal();
    await exportEvents({ engine, terminal: recent }, { since: -60 });
    expect(recent.printed).toEqual([]);
  });

  test("prune and stats say what they did and saw", async () => {
    const { engine, config } = await setUp();
    const stats = recordingTerminal();
    await inboxStatistics({ engine, terminal: stats }, { json: true });
    expect(JSON.parse(stats.printed[0]!)).toEqual({
      by_state: { pending: 0, claimed: 0, done: 1, ignored: 1, dead: 1 },
      by_handler: [{ handler: "mail", pending: 0, claimed: 0, dead: 1, ignored: 0 }],
      oldest_unfinished_age_seconds: null,
    });
    const pruned = recordingTerminal();
    await pruneInbox({ engine, config: { ...config, retentionDays: 0 }, terminal: pruned }, { json: true });
    expect(JSON.parse(pruned.printed[0]!)).toEqual({ bodies: 2, ids: 0 });
  });
});

describe("reconcile", () => {
  test("prints its report in three parts, and fails when it did not finish", async () => {
    const { engine, config } = await startTestReceiver();
    const { baseUrl, state } = await startRestService();
    state.calls = makeCalls(2, Date.now());
    const withApi = { ...config, api: { baseUrl, key: API_KEY } };
    const good = recordingTerminal();
    expect(await runReconcile({ config: withApi, engine, terminal: good }, { since: 3_600 })).toBe(0);
    expect(good.printed.join("\n")).toMatch(
      /^Healed: 2\n[^]*Already there: 0\nCannot be healed:\n +order\.created[^]*booking\.created/,
    );
    const bad = recordingTerminal();
    const wrongKey = { ...config, api: { baseUrl, key: "wrong" } };
    expect(
      await runReconcile({ config: wrongKey, engine, terminal: bad }, { since: 3_600, json: true }),
    ).toBe(1);
    expect(JSON.parse(bad.printed[0]!)).toMatchObject({
      finished: false,
      problem: expect.stringMatching(/unauthorized.*[^.]\. Check API_KEY\.$/),
    });
    await (
      await handleAll(engine, () => ({ kind: "done" }))
    )();
    await engine.ledger.prune({ bodiesOlderThanMs: 0, idsOlderThanMs: 86_400_000 });
    const floored = recordingTerminal();
    expect(await runReconcile({ config: withApi, engine, terminal: floored }, { since: 31 * 86_400 })).toBe(
      0,
    );
    expect(floored.printed.join("\n")).toMatch(
      /Looked back to .* only: what arrived before .* may be pruned/,
    );
    await expect(
      runReconcile({ config, engine, terminal: recordingTerminal() }, { since: 60 }),
    ).rejects.toMatchObject({ exitCode: 2 });
  });
});

describe("a command on the inbox", () => {
  test.each<[string, (engine: Engine) => Promise<number>, number | string, string[]]>([
    ["ends", async () => 7, 7, []],
    [
      "asks for what the database refuses",
      async ({ ledger }) => ledger.backup?.("/no/such/folder").then(() => 0) ?? 0,
      3,
      [expect.stringContaining("There is no folder /no/such")],
    ],
    ["meets a bug", async () => Promise.reject(new RangeError("a bug")), "RangeError: a bug", []],
  ])("that %s closes the database behind it", async (_how, command, ended, said) => {
    const config = testConfig({ DATABASE_URL: `sqlite:${temporaryDirectory()}/receiver.db` });
    const terminal = recordingTerminal();
    const opened: Engine[] = [];
    const work = async (engine: Engine): Promise<number> => {
      opened.push(engine);
      expect(await engine.intake.probe()).toEqual({ ok: true });
      return command(engine);
    };
    const came = orComplain(terminal, async () => onEngine(config, work));
    expect([await came.catch(String), terminal.said]).toEqual([ended, said]);
    expect(await opened[0]?.intake.probe()).toMatchObject({ ok: false, reason: "closed" });
  });
});

test("the program gives each command its options, and what they are where they are not given", async () => {
  const { engine, config } = await startTestReceiver();
  const bodies = Array.from({ length: 51 }, () => newBody("voicemail.created"));
  await engine.intake.accept(
    bodies.map((body) => newEvent({ id: idOf(body), type: "voicemail.created", body })),
  );
  const run = async (words: string) => {
    const { code, out, err } = await runReceiver(words.split(" "), {
      DATABASE_URL: `sqlite:${config.databaseFile ?? ""}`,
      LOG_LEVEL: "silent",
    });
    return { code, lines: out.split("\n").slice(0, -1), err };
  };
  const list = await run("inbox list");
  expect([list.code, list.lines.length, list.err]).toEqual([
    0,
    50,
    "There may be more: --limit shows them.\n",
  ]);
  const all = await run("inbox list --limit 52 --type voicemail.created --state pending --json");
  expect((JSON.parse(all.lines.join("")) as { data: object[] }).data).toHaveLength(51);
  expect(await run("inbox list --handler crm")).toMatchObject({ lines: [], err: "No event matches.\n" });
  const redacted = await run("inbox export --state pending");
  const whole = await run("inbox export --include-personal-data --since 1h --type voicemail.created");
  const told = [redacted, whole].map(({ lines }) => [
    lines.length,
    lines.filter((line) => line.includes(sampleVoicemail.phone)).length,
  ]);
  expect(told).toEqual([
    [51, 0],
    [51, 51],
  ]);
  expect(await run("inbox export --since 0s")).toMatchObject({ code: 0, lines: [] });
  const shown = await run(`inbox show ${idOf(bodies[0]!)} --body --json`);
  expect(JSON.parse(shown.lines.join(""))).toMatchObject({ envelope: { id: idOf(bodies[0]!) } });
  expect(await run("inbox requeue --state dead --since 1h --json")).toMatchObject({
    code: 0,
    lines: ['{"requeued":0,"left":0}'],
  });
  expect(await run("inbox prune --json")).toMatchObject({ code: 0, lines: ['{"bodies":0,"ids":0}'] });
  const stats = await run("inbox stats --json");
  expect(JSON.parse(stats.lines.join(""))).toMatchObject({ by_state: { pending: 51 } });
});
