import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import {
  EVENT_STATES,
  type EventState,
  type InboxEvent,
  type InboxJob,
  type Ledger,
} from "../../receiver/engine.ts";
import { openSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { errorKind, groupDeadLetters, type DeadGroup } from "../../receiver/operations/page/dead-letters.ts";
import { confirmation, eventList, eventPage } from "../../receiver/operations/page/events.ts";
import type { Html } from "../../receiver/operations/page/html.ts";
import { distance } from "../../receiver/operations/page/layout.ts";
import { overview } from "../../receiver/operations/page/overview.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

/** Each field of the operator's page, in each state, against what stands in the event. */

const NOW_MS = Date.UTC(2026, 0, 31, 12);
const minutesFromNow = (minutes: number): number => NOW_MS + minutes * 60_000;
const STATES = EVENT_STATES.filter((state) => state !== "pruned");
const canRequeue = (state: string): boolean => state === "dead" || state === "ignored";

/** Every field has a value of its own, so that none can stand in for another. */
function jobIn(state: InboxJob["state"], overrides: Partial<InboxJob> = {}): InboxJob {
  const isEnded = state === "done" || canRequeue(state);
  return {
    handler: `of-${state}`,
    state,
    attempts: 3,
    handled: state === "done" ? 1 : 0,
    lastError: `why ${state}`,
    nextAttemptAtMs: state === "pending" ? minutesFromNow(5) : null,
    deferred: false,
    finishedAtMs: isEnded ? minutesFromNow(-7) : null,
    ...overrides,
  };
}

function eventIn(state: EventState, overrides: Partial<InboxEvent> = {}): InboxEvent {
  return {
    seq: 9,
    id: `evt_${state}`,
    type: "call.completed",
    state,
    source: "webhook",
    attempts: 4,
    handled: 1,
    duplicates: 2,
    receivedAtMs: minutesFromNow(-11),
    finishedAtMs: minutesFromNow(-6),
    nextAttemptAtMs: minutesFromNow(8),
    deferredUntilMs: null,
    lastError: `the last of ${state}`,
    jobs: [],
    ...overrides,
  };
}

const textOf = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();

/** What stands in each cell of each row. */
const cells = ({ markup }: Html): string[][] =>
  [...markup.matchAll(/<tr>([^]*?)<\/tr>/g)]
    .map(([, row = ""]) => [...row.matchAll(/<td[^>]*>([^]*?)<\/td>/g)].map(([, cell = ""]) => textOf(cell)))
    .filter(({ length }) => length > 0);

/** What each form with this word on its button sends. */
const formsOf = ({ markup }: Html, word: string): Record<string, string>[] =>
  [...markup.matchAll(/<form method="post" action="\/requeue">([^]*?)<\/form>/g)]
    .filter(([, form = ""]) => form.includes(`<button>${word}</button>`))
    .map(([, form = ""]) => {
      const fields = form.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g);
      return Object.fromEntries([...fields].map(([, name = "", value = ""]) => [name, value]));
    });

const list = (options: Partial<Parameters<typeof eventList>[0]>): Html =>
  eventList({ events: [], filter: {}, nextBeforeSeq: undefined, handlers: [], nowMs: NOW_MS, ...options });

const one = (event: InboxEvent, options: { body?: string; isRedacted?: boolean } = {}): Html =>
  eventPage({ event, body: options.body, isRedacted: options.isRedacted ?? true, nowMs: NOW_MS });

const received = "2026-01-31 11:49:00 UTC (11 min ago)";

test.each(EVENT_STATES)(
  "an event that is %s has a row of its own fields, and a box if it can be requeued",
  (state) => {
    const markup = list({ events: [eventIn(state)] });
    expect(cells(markup)).toEqual([
      ["", `call.completed evt_${state}`, state, "4", received, `the last of ${state}`],
    ]);
    const boxes = [...markup.markup.matchAll(/type="checkbox" name="id" value="([^"]*)"/g)].map(
      ([, id]) => id,
    );
    expect(boxes).toEqual(canRequeue(state) ? [`evt_${state}`] : []);
    expect(markup.markup.includes("Requeue the chosen")).toBe(canRequeue(state));
    expect(markup.markup).toContain(`href="/events/evt_${state}"`);
  },
);

test("of a list of many each has its row in turn, and types that are none are not shown", () => {
  const types = ["order.created", "Made <Up>", null];
  const events = types.map((type, at) => eventIn("done", { type, id: `evt_${String(at)}`, lastError: null }));
  expect(cells(list({ events })).map(([, what, , , , error]) => [what, error])).toEqual([
    ["order.created evt_0", ""],
    ["other evt_1", ""],
    ["forgotten evt_2", ""],
  ]);
  expect(list({ events: [] }).markup).toContain("No event matches.");
  expect(list({ events }).markup).not.toContain("No event matches.");
});

test("a list says by what it was chosen, and carries that to its forms and to its next page", () => {
  const chosen = { state: "dead", type: "order.created", handler: "pos & crm" } as const;
  const handlers = ["pos", "pos & crm"];
  const escaped = { ...chosen, handler: "pos &amp; crm" };
  const { markup } = list({ events: [eventIn("dead")], filter: chosen, handlers, nextBeforeSeq: 77 });
  const selected = [...markup.matchAll(/<select name="(\w+)">([^]*?)<\/select>/g)].map(
    ([, name, options = ""]) => [
      name,
      [...options.matchAll(/<option selected>([^<]*)/g)].map(([, value]) => value),
      [...options.matchAll(/<option ?(?:selected)?>([^<]*)/g)].map(([, value]) => value),
    ],
  );
  expect(selected).toEqual([
    ["state", ["dead"], ["", ...EVENT_STATES]],
    ["handler", ["pos &amp; crm"], ["", "pos", "pos &amp; crm"]],
  ]);
  expect(/<input name="type" value="([^"]*)"/.exec(markup)?.[1]).toBe("order.created");
  expect(formsOf({ markup }, "Requeue the chosen …")).toEqual([{ handler: escaped.handler }]);
  expect(formsOf({ markup }, "Requeue all that match …")).toEqual([escaped]);
  const link = /href="\/events\?([^"]*)">Older events/.exec(markup)?.[1]?.replaceAll("&amp;", "&");
  expect(Object.fromEntries(new URLSearchParams(link))).toEqual({ ...chosen, before_seq: "77" });
  const last = list({ events: [eventIn("dead")], filter: {}, handlers });
  expect(last.markup).not.toMatch(/Older events|Requeue all that match|selected/);
});

test.each(EVENT_STATES)(
  "all of a list chosen as %s is offered to be requeued only where it can be",
  (state) => {
    const offered = formsOf(list({ filter: { state } }), "Requeue all that match …");
    expect(offered).toEqual(canRequeue(state) ? [{ state }] : []);
  },
);

test.each(STATES)(
  "a job that is %s is told by its own fields, and offered to be requeued only where it can be",
  (state) => {
    const page = one(eventIn("claimed", { jobs: [jobIn(state)] }));
    const ended = "ended 2026-01-31 11:53:00 UTC (7 min ago)";
    const pending = "next attempt 2026-01-31 12:05:00 UTC (in 5 min)";
    const when = { pending, claimed: "", done: ended, dead: ended, ignored: ended }[state];
    const action = canRequeue(state) ? "Requeue …" : "";
    expect(cells(page)).toEqual([[`of-${state}`, state, "3", when, `why ${state}`, action]]);
    expect(formsOf(page, "Requeue …")).toEqual(
      canRequeue(state) ? [{ id: "evt_claimed", handler: `of-${state}` }] : [],
    );
  },
);

test("a job that its handler has put off says so, with the time", () => {
  const page = one(eventIn("pending", { jobs: [jobIn("pending", { deferred: true, lastError: null })] }));
  expect(cells(page)).toEqual([
    ["of-pending", "pending", "3", "put off until 2026-01-31 12:05:00 UTC (in 5 min)", "", ""],
  ]);
});

test.each<[Partial<InboxEvent>, string]>([
  [{}, "brought by the service · 2 duplicates"],
  [{ duplicates: 1 }, "brought by the service · 1 duplicate"],
  [{ duplicates: 0, source: "reconcile" }, "found missing by reconcile · 0 duplicates"],
])("above an event with %j it stands where it came from and how often", (overrides, words) => {
  const state = "done";
  const { markup } = one(eventIn(state, { jobs: [jobIn(state)], ...overrides }));
  expect(textOf(markup.split("<h2>Jobs")[0]!)).toBe(
    `evt_${state} ${state} · received ${received} · ${words}`,
  );
});

test.each<[EventState, string, object[]]>([
  ["pending", "None yet.", []],
  ["ignored", "None: no handler wants this type.", [{ id: "evt_ignored" }]],
  ["done", "None yet.", []],
])("an event without jobs that is %s says %j", (state, words, forms) => {
  const page = one(eventIn(state));
  expect(textOf(/<h2>Jobs<\/h2>([^]*?)<table>/.exec(page.markup)?.[1] ?? "")).toBe(words);
  expect(formsOf(page, "Requeue …")).toEqual(forms);
  const { markup } = one(eventIn(state, { jobs: [jobIn("done")] }));
  expect(/<h2>Jobs<\/h2>([^]*?)<table>/.exec(markup)?.[1]?.trim()).toBe("");
});

test.each([
  [undefined, true, "It is not kept any more."],
  ['{\n  "a": "<b>"\n}', true, "{\n  &quot;a&quot;: &quot;&lt;b&gt;&quot;\n}"],
  ['{\n  "a": 1\n}', false, "{\n  &quot;a&quot;: 1\n}"],
])("of the envelope %j, redacted %o, is shown what there is", (body, isRedacted, text) => {
  const { markup } = one(eventIn("done"), { ...(body === undefined ? {} : { body }), isRedacted });
  const [, shown = ""] = markup.split("<h2>Envelope</h2>");
  expect(/<(?:pre|p)>([^]*?)<\/(?:pre|p)>/.exec(shown)?.[1]?.trimEnd()).toBe(text);
  expect(shown.includes("ADMIN_SHOW_BODIES=true shows all of it")).toBe(body !== undefined && isRedacted);
});

const byState = { pending: 1_002, claimed: 3, done: 4_005, ignored: 6, dead: 7 };
const handlerCounts = { handler: "pos & crm", pending: 11, claimed: 12, dead: 13, ignored: 1_014 };
const encoded = encodeURIComponent(handlerCounts.handler);
const counts = { byState, byHandler: [handlerCounts], oldestUnfinishedAgeMs: 3 * 3_600_000 };
const group: DeadGroup = {
  handler: "pos & crm",
  error: "no <menu>",
  jobs: 1_234,
  newestReceivedAtMs: minutesFromNow(-11),
};

function look(options: Partial<Parameters<typeof overview>[0]> = {}): Html {
  return overview({
    look: { atMs: NOW_MS, counts },
    before: undefined,
    dead: { groups: [group], isWhole: true },
    checks: { database: "ok" },
    ...options,
  });
}

test("the overview counts each state and each handler's jobs, and every number leads to what it counts", () => {
  const { markup } = look();
  const [states = "", rest = ""] = markup.split("<h2>Dead letters</h2>");
  const shown = [...states.matchAll(/href="([^"]*)"><b class="(\w+)">([\d,]+)<\/b>(\w+)</g)];
  expect(shown.map(([, href, colour, number, word]) => [href, colour, number, word])).toEqual(
    Object.entries(byState).map(([state, events]) => [
      `/events?state=${state}`,
      state,
      events.toLocaleString("en"),
      state,
    ]),
  );
  expect(textOf(states)).toContain("The oldest unfinished event came 3 h ago.");
  const [dead = "", handlers = ""] = rest.split("<h2>Handlers</h2>");
  expect(cells({ markup: dead })).toEqual([
    ["pos &amp; crm", "no &lt;menu&gt;", "1,234", received, "Requeue …"],
  ]);
  expect(dead).toContain(`href="/events?state=dead&handler=${encoded}"`);
  expect(formsOf({ markup: dead }, "Requeue …")).toEqual([
    { state: "dead", handler: "pos &amp; crm", error: "no &lt;menu&gt;" },
  ]);
  expect(cells({ markup: handlers })).toEqual([["pos &amp; crm", "11", "12", "13", "1,014"]]);
  const links = [...handlers.matchAll(/href="([^"]*)"\s*>([\d,]+)</g)].map(([, href, number]) => [
    href,
    number,
  ]);
  expect(links).toEqual([
    [`/events?state=pending&handler=${encoded}`, "11"],
    [`/events?state=claimed&handler=${encoded}`, "12"],
    [`/events?state=dead&handler=${encoded}`, "13"],
    [`/events?state=ignored&handler=${encoded}`, "1,014"],
  ]);
});

test("the overview names each check that fails and none that doesn't, and what there is none of", () => {
  const empty = { byState, byHandler: [], oldestUnfinishedAgeMs: null };
  const { markup } = look({
    look: { atMs: NOW_MS, counts: empty },
    dead: { groups: [], isWhole: true },
    checks: { database: "busy", disk: "ok", draining: "shutting down" },
  });
  expect([...markup.matchAll(/role="alert">([^<]*)</g)].map(([, alert]) => alert)).toEqual([
    "Not ready: database: busy",
    "Not ready: draining: shutting down",
  ]);
  expect(textOf(markup)).toMatch(/Nothing waits\. Dead letters None\. Handlers Nothing of any handler waits/);
  expect(markup).not.toContain("In the last");
  const cut = "There are more dead letters than the newest 5,000";
  expect([
    look().markup.includes(cut),
    look({ dead: { groups: [group], isWhole: false } }).markup.includes(cut),
  ]).toEqual([false, true]);
});

test.each<[keyof typeof byState, number, number]>([
  ["pending", 60, 0],
  ["claimed", 60, 0],
  ["done", 60, 60],
  ["ignored", 60, 60],
  ["dead", 60, 60],
])(
  "one event more that is %s within a second is a rate of %i that came and %i that ended",
  (state, came, ended) => {
    const fewer = { ...counts, byState: { ...byState, [state]: byState[state] - 1 } };
    const { markup } = look({ before: { atMs: NOW_MS - 1_000, counts: fewer } });
    expect(textOf(markup)).toContain(
      `In the last 1 s ${String(came)} came and ${String(ended)} ended a minute.`,
    );
  },
);

test("a rate is never less than nothing, though retention makes counts smaller", () => {
  const more = { pending: 5_000, claimed: 5_000, done: 50_000, ignored: 5_000, dead: 5_000 };
  const { markup } = look({ before: { atMs: NOW_MS - 60_000, counts: { ...counts, byState: more } } });
  expect(textOf(markup)).toContain("In the last 60 s 0 came and 0 ended a minute.");
});

test("numbers of what is too much to count are said to be about so, and no rate is made of them", () => {
  const many = { ...counts, isEstimate: true };
  const { markup } = look({
    look: { atMs: NOW_MS, counts: many },
    before: { atMs: NOW_MS - 60_000, counts: many },
  });
  expect(textOf(markup)).toContain(`about ${byState.done.toLocaleString("en")} done`);
  expect(textOf(markup)).toContain(`at least ${byState.dead.toLocaleString("en")} dead`);
  expect(textOf(markup)).not.toContain("a minute");
});

test("what died is grouped by both its handler and its reason, and only what is dead", async () => {
  const names = ["crm", "pos"];
  const errors = ["no menu", "no crm", null];
  const jobs = ["dead", "done", "ignored"].flatMap((state) =>
    names.flatMap((name) =>
      errors.map((lastError) => jobIn(state as InboxJob["state"], { handler: name, lastError })),
    ),
  );
  const list: Ledger["list"] = async () => [
    ...jobs.map((job, at) => eventIn("dead", { jobs: [job], receivedAtMs: minutesFromNow(-at) })),
    eventIn("dead", { jobs, receivedAtMs: minutesFromNow(-500) }),
  ];
  const engine = await openSqliteEngine({
    file: join(temporaryDirectory(), "receiver.db"),
    clock: systemClock,
  });
  onTestFinished(engine.close);
  const expected = names.flatMap((name, at) =>
    errors.map((error, nth) => ({
      handler: name,
      error: error ?? "no error is known",
      jobs: 2,
      newestReceivedAtMs: minutesFromNow(-(at * errors.length + nth)),
    })),
  );
  expect(await groupDeadLetters({ ...engine.ledger, list })).toEqual({ groups: expected, isWhole: true });
});

test("what died is grouped by handler and kind, most first, of the newest 5,000", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  const engine = await openSqliteEngine({ file, clock: systemClock });
  onTestFinished(engine.close);
  let lists = 0;
  const page = (jobs: InboxJob[], length: number): InboxEvent[] =>
    Array.from({ length }, (_, at) =>
      eventIn("dead", { jobs, seq: 9_000 - at, receivedAtMs: minutesFromNow(-at) }),
    );
  const crm = jobIn("dead", { handler: "crm", lastError: "no crm" });
  const pos = jobIn("dead", { handler: "pos", lastError: null });
  const pages = [page([crm], 500), ...Array.from({ length: 9 }, () => page([pos, jobIn("done")], 500))];
  const grouped = async (more: InboxEvent[]) => {
    const left = [...pages, more];
    const list: Ledger["list"] = async () => {
      lists += 1;
      return left.shift() ?? [];
    };
    return groupDeadLetters({ ...engine.ledger, list });
  };
  const newestReceivedAtMs = NOW_MS;
  const groups = [
    { handler: "pos", error: "no error is known", jobs: 4_500, newestReceivedAtMs },
    { handler: "crm", error: "no crm", jobs: 500, newestReceivedAtMs },
  ];
  expect(await grouped([])).toEqual({ groups, isWhole: false });
  expect(lists).toBe(10);
  pages.pop();
  expect(await grouped(page([pos], 499))).toMatchObject({
    isWhole: true,
    groups: [{ jobs: 4_499 }, { jobs: 500 }],
  });
});

test.each([
  [0, "0 s ago"],
  [-499, "0 s ago"],
  [500, "in 1 s"],
  [59_000, "in 59 s"],
  [-60_000, "1 min ago"],
  [-119_000, "1 min ago"],
  [3_599_000, "in 59 min"],
  [-3_600_000, "1 h ago"],
  [-86_399_000, "23 h ago"],
  [86_400_000, "in 1 d"],
  [-20 * 86_400_000, "20 d ago"],
])("what is %i ms from now is said to be %s", (ms, words) => {
  expect(distance(ms)).toBe(words);
});

test.each([
  ["E: 503 after 12 ms", "E: 503 after … ms"],
  ["E: 503 ms of evt_0123456789abcdef", "E: … ms of …"],
  ["404 of 4041, 99.5 and v2", "404 of …, … and v2"],
  ["x".repeat(300), "x".repeat(200)],
  [null, "no error is known"],
])("the kind of the error %j is %j", (lastError, kind) => {
  expect(errorKind({ lastError })).toBe(kind);
});

test("who is asked before a requeue may leave it, and goes where it came from", () => {
  for (const count of [0, 1, 1_000]) {
    const { markup } = confirmation({ count, fields: [["state", "dead"]], back: "/events?a=1" });
    expect(markup).toContain('href="/events?a=1"');
    expect(markup.includes("<form")).toBe(count > 0);
  }
});
