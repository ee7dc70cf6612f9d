import { Writable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { duration, momentAgo, wholeNumber } from "../../receiver/operations/commands/arguments.ts";
import type { Engine, EventState, InboxEvent } from "../../receiver/engine.ts";
import { backup, runDoctor } from "../../receiver/operations/commands/care.ts";
import {
  exportEvents,
  inboxStatistics,
  listInbox,
  pruneInbox,
  requeueEvents,
  showEvent,
  type RequeueOptions,
} from "../../receiver/operations/commands/inbox.ts";
import { runReconcile } from "../../receiver/operations/commands/reconcile.ts";
import { createTerminal } from "../../receiver/operations/commands/terminal.ts";
import { orComplain } from "../../receiver/operations/commands/with-engine.ts";
import { handler, newEvent } from "./engine-suite/harness.ts";
import { movableClock } from "./helpers/clock.ts";
import { startTestReceiver } from "./helpers/receiver.ts";
import { API_KEY, makeCalls, startRestService } from "./helpers/rest-service.ts";
import { recordingTerminal } from "./helpers/terminal.ts";
import { until } from "./helpers/until.ts";

/** What commands say to people, word by word, and to programs, field by field. */

async function setUp() {
  const clock = movableClock();
  const receiver = await startTestReceiver({ clock });
  const { engine } = receiver;
  const events = ["call.completed", "call.transferred", "Made Up", "order.created"].map((type) =>
    newEvent({ type }),
  );
  await engine.intake.accept(events);
  const processor = await engine.work.process({
    handlers: [
      handler({ name: "crm", types: ["call.completed", "call.transferred"], backoffMs: () => 3_600_000 }),
      handler({ name: "pos", types: ["call.transferred", "order.created"] }),
    ],
    handle: async ({ type, handler: name }) => {
      if (type === "order.created") return { kind: "failed", error: "not yet" };
      return type === "call.transferred" && name === "pos"
        ? { kind: "dead", error: "no such table" }
        : { kind: "done" };
    },
    workerId: "worker",
    concurrency: 4,
    onHandled: () => undefined,
    onTrouble: () => undefined,
  });
  await until(
    () => engine.ledger.counts(),
    ({ byState }) => byState.dead === 1 && byState.ignored === 1 && byState.done === 1,
  );
  await until(
    async () => (await engine.ledger.find(events[3]!.id))?.attempts,
    (attempts) => attempts === 1,
  );
  await processor.drain(0);
  return { ...receiver, clock, events };
}

test.each([
  ["0s", 0],
  ["90s", 90],
  ["30m", 1_800],
  ["12h", 43_200],
  ["7d", 604_800],
  ["999999s", 999_999],
])("a duration of %j is so many seconds: %o", (text, seconds) => {
  expect(duration(text)).toBe(seconds);
});

test.each(["", "7", "d", "7w", "1.5h", "-1d", "+1d", "1 d", "7D", "1d2h", "1000000s"])(
  "%j is no duration",
  (text) => {
    expect(() => duration(text)).toThrow("It takes a duration such as 30m, 12h or 7d.");
  },
);

test.each([
  ["1", 1],
  ["007", 7],
  ["100000", 100_000],
])("a number of %j is %o", (text, number) => {
  expect(wholeNumber(text)).toBe(number);
});

test.each(["0", "100001", "1.5", "1e3", "-1", "", " 1", "ten"])("%j is no number of something", (text) => {
  expect(() => wholeNumber(text)).toThrow("It takes a whole number from 1 to 100000.");
});

test("a moment is so many seconds ago, and without them the beginning of time", () => {
  const beforeMs = Date.now();
  const agoMs = momentAgo(7_200) + 7_200_000;
  expect(agoMs).toBeGreaterThanOrEqual(beforeMs);
  expect(agoMs).toBeLessThanOrEqual(Date.now());
  expect(momentAgo(undefined)).toBe(0);
});

/** What a terminal gets, in turn, of both streams; whoever watches has one that can be written over. */
function watched(isTTY: boolean) {
  const written: string[] = [];
  const stream = (name: string) =>
    Object.assign(
      new Writable({
        decodeStrings: false,
        write: (text: string, _encoding, done) => {
          written.push(`${name} ${text}`);
          done();
        },
      }),
      { isTTY },
    );
  return { ...createTerminal({ stdout: stream("out"), stderr: stream("err") }), written };
}

test.each([true, false])("data goes to standard output and words to standard error, watched: %s", (isTTY) => {
  const terminal = watched(isTTY);
  const erased = isTTY ? ["err \r\u001b[2K"] : [];
  const progress = isTTY ? ["err \r\u001b[2K1 read"] : [];
  terminal.print("a line");
  terminal.say("a word");
  terminal.complain("a problem");
  terminal.value({ a: 1, b: [2] });
  terminal.value({ a: 1 }, { indented: true });
  terminal.progress("1 read");
  terminal.print("a line");
  terminal.print("the next");
  terminal.progress("1 read");
  terminal.progress("1 read");
  terminal.complain("a problem");
  expect(terminal.written).toEqual([
    "out a line\n",
    "err a word\n",
    "err voice-agent-receiver: a problem\n",
    'out {"a":1,"b":[2]}\n',
    'out {\n  "a": 1\n}\n',
    ...progress,
    ...erased,
    "out a line\n",
    "out the next\n",
    ...progress,
    ...progress,
    ...erased,
    "err voice-agent-receiver: a problem\n",
  ]);
});

test("secrets are left out of whatever is written, but not of what was asked for whole", () => {
  const terminal = watched(false);
  const secret = "whsec_first_0001";
  terminal.say(secret);
  terminal.hide([secret]);
  terminal.print(secret, { word: secret, colour: "red" });
  terminal.say(secret);
  terminal.complain(secret);
  terminal.value({ secret });
  terminal.value({ secret }, { whole: true });
  expect(terminal.written).toEqual([
    `err ${secret}\n`,
    "out [redacted]  [redacted]\n",
    "err [redacted]\n",
    "err voice-agent-receiver: [redacted]\n",
    'out {"secret":"[redacted]"}\n',
    `out {"secret":"${secret}"}\n`,
  ]);
});

test("inbox show says of what is dead how to have it handled again, and of nothing else", async () => {
  const { engine, events } = await setUp();
  const said = await Promise.all(
    events.map(async ({ id }) => {
      const terminal = recordingTerminal();
      expect(await showEvent({ engine, terminal }, id, {})).toBe(0);
      return terminal.said;
    }),
  );
  expect(said).toEqual([[], [`Once its cause is mended: inbox requeue ${events[1]!.id}`], [], []]);
});

test("inbox list and stats show each event and each handler in a line", async () => {
  const { engine, events, clock } = await setUp();
  const list = recordingTerminal();
  expect(await listInbox({ engine, terminal: list }, { limit: 4 })).toBe(0);
  const told = [
    `pending   TIME  order.created      ${events[3]!.id}  1 attempt  not yet`,
    `ignored   TIME  other              ${events[2]!.id}  0 attempts`,
    `dead      TIME  call.transferred   ${events[1]!.id}  1 attempt  no such table`,
    `done      TIME  call.completed     ${events[0]!.id}  1 attempt`,
  ];
  const time = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/;
  expect(list.printed.map((line) => line.replace(time, "TIME"))).toEqual(told);
  expect(list.said).toEqual(["There may be more: --limit shows them."]);
  const whole = recordingTerminal();
  expect(await listInbox({ engine, terminal: whole }, { limit: 5 })).toBe(0);
  expect([whole.printed.length, whole.said]).toEqual([4, []]);
  const none = recordingTerminal();
  expect(await listInbox({ engine, terminal: none }, { limit: 4, type: "voicemail.created" })).toBe(0);
  expect([none.printed, none.said]).toEqual([[], ["No event matches."]]);

  clock.move(90_000);
  const stats = recordingTerminal();
  expect(await inboxStatistics({ engine, terminal: stats }, {})).toBe(0);
  expect(stats.printed.slice(0, 5).toSorted()).toEqual([
    "claimed  0",
    "dead     1",
    "done     1",
    "ignored  1",
    "pending  1",
  ]);
  expect(stats.printed.slice(5)).toEqual([
    "pos: 1 pending, 1 dead",
    expect.stringMatching(/came 9[0-9] s ago\.$/),
  ]);
});

test("inbox requeue says what it left and why, and prune by which ages it went", async () => {
  const { engine, events, config } = await setUp();
  const ids = events.map(({ id }) => id);
  const terminal = recordingTerminal();
  expect(await requeueEvents({ engine, terminal }, ids, { handler: "pos" })).toBe(1);
  expect([terminal.printed, terminal.said]).toEqual([
    ["1 requeued."],
    ["3 left as they are: only dead and ignored jobs of pos can be requeued, of events that are not pruned."],
  ]);
  const json = recordingTerminal();
  expect(await requeueEvents({ engine, terminal: json }, ids, { json: true })).toBe(1);
  expect([json.printed, json.said]).toEqual([['{"requeued":1,"left":3}'], []]);
  const pruned = recordingTerminal();
  expect(await pruneInbox({ engine, config, terminal: pruned }, {})).toBe(0);
  expect(pruned.printed).toEqual(["0 events older than 30 days and 0 ids older than 400 days pruned."]);
  const nothing = recordingTerminal();
  expect(
    await orComplain(nothing, async () =>
      requeueEvents({ engine, terminal: nothing }, [], { type: "call.completed" }),
    ),
  ).toBe(2);
  expect(nothing.said.join()).toContain("--state dead, --state ignored, or --handler NAME --since 7d");
});

/** Only what is asked for; the rest is the real inbox's. */
const withLedger = (engine: Engine, ledger: Partial<Engine["ledger"]>): Engine => ({
  ...engine,
  ledger: { ...engine.ledger, ...ledger },
});

const LEFT = "left as they are: only dead and ignored jobs";

test.each<[string, boolean, RequeueOptions, number, number, string[]]>([
  ["named, and all of it is", true, {}, 2, 0, []],
  ["named, and a part is", true, {}, 1, 1, [`1 ${LEFT} can be requeued, of events that are not pruned.`]],
  [
    "named, and a part of one handler is",
    true,
    { handler: "crm" },
    1,
    1,
    [`1 ${LEFT} of crm can be requeued, of events that are not pruned.`],
  ],
  ["named, and nothing is", true, {}, 0, 1, [`2 ${LEFT} can be requeued, of events that are not pruned.`]],
  ["chosen by state, and all of it is", false, { state: "dead" }, 2, 0, []],
  [
    "chosen by state, and a part is",
    false,
    { state: "dead" },
    1,
    0,
    [`1 ${LEFT} can be requeued, of events that are not pruned.`],
  ],
  ["what a handler gets, and a part is", false, { handler: "crm", since: 3_600 }, 1, 0, []],
])(
  "of what is %s requeued it is told how much, and only of what was named it is a failure",
  async (_what, isNamed, options, requeued, code, said) => {
    const { engine } = await setUp();
    const events = (await engine.ledger.list({}, { limit: 2 })).map(({ id }) => id);
    const partly = withLedger(engine, {
      list: async (_filter, page) =>
        "afterSeq" in page && page.afterSeq > 0 ? [] : engine.ledger.list({}, { limit: 2 }),
      requeue: async () => requeued,
    });
    const terminal = recordingTerminal();
    expect(await requeueEvents({ engine: partly, terminal }, isNamed ? events : [], options)).toBe(code);
    expect([terminal.printed, terminal.said]).toEqual([[`${String(requeued)} requeued.`], said]);
    const json = recordingTerminal();
    expect(
      await requeueEvents({ engine: partly, terminal: json }, isNamed ? events : [], {
        ...options,
        json: true,
      }),
    ).toBe(code);
    expect([json.printed, json.said]).toEqual([[JSON.stringify({ requeued, left: 2 - requeued })], []]);
  },
);

test("inbox requeue says which handlers there are, and why there are none", async () => {
  const { engine } = await startTestReceiver();
  const asked = async (handlers: string[]): Promise<string[]> => {
    const terminal = recordingTerminal();
    const known = withLedger(engine, {
      handlers: async () => handlers.map((name) => ({ name, types: "*" })),
    });
    expect(
      await orComplain(terminal, async () =>
        requeueEvents({ engine: known, terminal }, [], { handler: "lost", state: "dead" }),
      ),
    ).toBe(2);
    return terminal.said;
  };
  const start = "voice-agent-receiver: no handler is called lost. There are: ";
  expect(await asked(["crm", "pos"])).toEqual([`${start}crm, pos.`]);
  expect(await asked([])).toEqual([`${start}none yet, for no worker has started.`]);
});

const EVENT: InboxEvent = {
  seq: 1,
  id: "evt_1",
  type: "call.completed",
  state: "done",
  source: "webhook",
  attempts: 2,
  handled: 1,
  duplicates: 0,
  receivedAtMs: Date.UTC(2026, 0, 31),
  finishedAtMs: null,
  nextAttemptAtMs: null,
  deferredUntilMs: null,
  lastError: "the event's",
  jobs: [],
};

test.each<[EventState, string]>([
  ["done", "green"],
  ["dead", "red"],
  ["pending", "yellow"],
  ["claimed", "cyan"],
  ["ignored", "gray"],
  ["pruned", "gray"],
])(
  "inbox list has a line of what is %s in %s, with the job's own words where a handler is named",
  async (state, colour) => {
    const { engine } = await startTestReceiver();
    const other: EventState = state === "done" ? "dead" : "done";
    const job = { handler: "crm", state: other, attempts: 1, lastError: null } as const;
    const rest = { handled: 0, nextAttemptAtMs: null, deferred: false, finishedAtMs: null };
    const event: InboxEvent = {
      ...EVENT,
      state,
      type: state === "pruned" ? null : "a.type_of_one",
      jobs: [{ ...job, ...rest }],
    };
    const listed = withLedger(engine, { list: async () => [event] });
    const lines: unknown[] = [];
    const terminal = { ...recordingTerminal(), print: (...line: unknown[]) => void lines.push(line) };
    expect(await listInbox({ engine: listed, terminal }, { limit: 2 })).toBe(0);
    expect(await listInbox({ engine: listed, terminal }, { limit: 2, handler: "crm" })).toBe(0);
    const type = (state === "pruned" ? "" : "a.type_of_one").padEnd(17);
    const start = `2026-01-31T00:00:00.000Z  ${type}  evt_1  `;
    expect(lines).toEqual([
      [`${start}2 attempts  the event's`, { word: state.padEnd(8), colour }],
      [`${start}1 attempt`, { word: other.padEnd(8), colour: other === "done" ? "green" : "red" }],
    ]);
  },
);

test("what is pruned is left out of an export, and shown without its envelope", async () => {
  const { engine } = await startTestReceiver();
  const events = [1, 2, 3].map((seq) => ({ ...EVENT, seq, id: `evt_${String(seq)}` }));
  const bodies = new Map([1, 3].map((seq) => [seq, Buffer.from(`{"id":"evt_${String(seq)}","a":[1]}`)]));
  const some = withLedger(engine, {
    list: async () => events,
    find: async (id) => events.find((event) => event.id === id),
    body: async (seq) => bodies.get(seq),
  });
  const terminal = recordingTerminal();
  expect(await exportEvents({ engine: some, terminal }, { includePersonalData: true })).toBe(0);
  expect(terminal.printed).toEqual(['{"id":"evt_1","a":[1]}', '{"id":"evt_3","a":[1]}']);
  for (const [id, envelope] of [
    ["evt_1", { id: "evt_1", a: [1] }],
    ["evt_2", undefined],
  ] as const) {
    for (const json of [true, false]) {
      const shown = recordingTerminal();
      expect(await showEvent({ engine: some, terminal: shown }, id, { body: true, json })).toBe(0);
      expect((JSON.parse(shown.printed[0]!) as { envelope?: object }).envelope).toEqual(envelope);
      // People read it in many lines.
      expect(shown.printed[0]!.includes("\n")).toBe(!json);
    }
    const bare = recordingTerminal();
    await showEvent({ engine: some, terminal: bare }, id, {});
    expect(bare.printed[0]).not.toContain("envelope");
  }
});

test("inbox stats tells whole seconds to people, and no handler that has nothing to look at", async () => {
  const { engine } = await startTestReceiver();
  const none = { pending: 0, claimed: 0, dead: 0, ignored: 0 };
  const counted = withLedger(engine, {
    counts: async () => ({
      byState: { pending: 1, claimed: 2, done: 3, ignored: 4, dead: 5 },
      byHandler: [
        { handler: "idle", ...none },
        { handler: "busy", ...none, pending: 6, claimed: 7, ignored: 8 },
      ],
      oldestUnfinishedAgeMs: 90_500,
    }),
  });
  const terminal = recordingTerminal();
  expect(await inboxStatistics({ engine: counted, terminal }, {})).toBe(0);
  expect(terminal.printed).toEqual([
    "pending  1",
    "claimed  2",
    "done     3",
    "ignored  4",
    "dead     5",
    "busy: 6 pending, 7 claimed, 8 ignored",
    "The oldest unfinished event came 91 s ago.",
  ]);
  const json = recordingTerminal();
  await inboxStatistics({ engine: counted, terminal: json }, { json: true });
  expect(JSON.parse(json.printed[0]!)).toEqual({
    by_state: { pending: 1, claimed: 2, done: 3, ignored: 4, dead: 5 },
    by_handler: [
      { handler: "idle", ...none },
      { handler: "busy", ...none, pending: 6, claimed: 7, ignored: 8 },
    ],
    oldest_unfinished_age_seconds: 90.5,
  });
});

test("reconcile tells programs each field of its report, and people what it would do", async () => {
  const { engine, config } = await startTestReceiver();
  const { baseUrl, state } = await startRestService();
  state.calls = makeCalls(1, Date.now());
  const [call] = state.calls;
  const withApi = { ...config, api: { baseUrl, key: API_KEY } };
  const dry = recordingTerminal();
  expect(await runReconcile({ config: withApi, engine, terminal: dry }, { since: 3_600, dryRun: true })).toBe(
    0,
  );
  expect(dry.printed.slice(0, 3)).toEqual([
    "Would be healed: 1",
    expect.stringMatching(
      new RegExp(`^  call\\.completed     ${call!.id}  ${call!.created_at}  as evt_[0-9a-f]{32}$`),
    ),
    "Already there: 0",
  ]);
  const json = recordingTerminal();
  const before = Date.now();
  expect(await runReconcile({ config: withApi, engine, terminal: json }, { since: 3_600, json: true })).toBe(
    0,
  );
  const report = JSON.parse(json.printed[0]!) as { since: string; cannot_be_healed: object[] };
  expect(Math.abs(Date.parse(report.since) - (before - 3_600_000))).toBeLessThan(60_000);
  const unhealed = { type: expect.any(String), reason: expect.any(String), what_to_do: expect.any(String) };
  expect(report).toEqual({
    finished: true,
    dry_run: false,
    since: expect.any(String),
    pruned_before: null,
    problem: null,
    objects_read: 1,
    healed: [
      {
        id: expect.stringMatching(/^evt_/),
        type: "call.completed",
        object_id: call!.id,
        created_at: call!.created_at,
      },
    ],
    already_there: 0,
    cannot_be_healed: [unhealed, unhealed],
  });
});

test("doctor is short when all is well, and says all of it when it is asked to", async () => {
  const { engine, config } = await startTestReceiver();
  const { baseUrl } = await startRestService();
  const withApi = { ...config, api: { baseUrl, key: API_KEY } };
  const short = recordingTerminal();
  expect(await runDoctor({ config: withApi, engine, terminal: short }, {})).toBe(0);
  expect(short.printed).toEqual(["All 6 checks are well."]);
  const long = recordingTerminal();
  expect(await runDoctor({ config: withApi, engine, terminal: long }, { verbose: true })).toBe(0);
  expect(long.printed.map((line) => line.slice(0, 17).trimEnd())).toEqual([
    "ok       secrets",
    "ok       database",
    "ok       inbox",
    "ok       disk",
    "ok       api",
    "ok       clock",
    "All 6 checks are",
  ]);
  const warned = recordingTerminal();
  expect(await runDoctor({ config, engine, terminal: warned }, {})).toBe(0);
  expect(warned.printed).toEqual([
    expect.stringMatching(/^warning  api       API_BASE_URL and API_KEY are not set/),
  ]);
  const wrong = recordingTerminal();
  expect(
    await runDoctor(
      { config: { ...config, api: { baseUrl, key: "wrong" } }, engine, terminal: wrong },
      { json: true },
    ),
  ).toBe(1);
  expect(JSON.parse(wrong.printed[0]!)).toMatchObject({
    findings: expect.arrayContaining([{ check: "api", level: "problem", message: expect.any(String) }]),
  });
});

test("backup names its files, and says whose affair it is where it is none of ours", async () => {
  const { engine, config } = await startTestReceiver();
  const mask = process.umask();
  onTestFinished(() => void process.umask(mask));
  const target = `${config.databaseFile!}.copy`;
  const terminal = recordingTerminal();
  expect(await backup({ engine, terminal }, target)).toBe(0);
  expect(terminal.printed).toEqual([`${target}/receiver.work.db`, `${target}/receiver.db`]);
  const { backup: _ours, ...ledger } = engine.ledger;
  const elsewhere = recordingTerminal();
  expect(
    await orComplain(elsewhere, async () =>
      backup({ engine: { ...engine, ledger }, terminal: elsewhere }, target),
    ),
  ).toBe(1);
  expect(elsewhere.said.join()).toContain("pg_dump");
});
