import express from "express";
import { createServer } from "node:http";
import { join } from "node:path";
import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import type { JobHandler, Outcome } from "../../receiver/engine.ts";
import { openSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { createHealth } from "../../receiver/operations/health.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { groupDeadLetters } from "../../receiver/operations/page/dead-letters.ts";
import { createOperatorPage } from "../../receiver/operations/page/index.ts";
import { AXE, expectAccessible } from "../helpers/axe.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { useBrowser } from "../helpers/browser.ts";
import { listen } from "../helpers/listen.ts";
import { accept, handler, newEvent, newEvents, setUp } from "./engine-suite/harness.ts";
import { newBody } from "./helpers/events.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";

const PHONE = "+12125550143";

/** The page over an inbox on SQLite, whose handlers `pos` and `crm` want every event. */
async function startPage({ showBodies = false, clock = systemClock } = {}) {
  const directory = temporaryDirectory();
  const world = await setUp(async () => ({
    open: async ({ clock }) => openSqliteEngine({ file: join(directory, "receiver.db"), clock }),
    rows: async () => [],
  }));
  const { ledger, intake } = world.engine;
  const lines: string[] = [];
  const log = createLog({
    level: "info",
    destination: new Writable({ write: (line, _encoding, done) => (lines.push(String(line)), done()) }),
  });
  const health = createHealth({
    probe: intake.probe,
    clock: systemClock,
    freeBytes: async () => Number.MAX_SAFE_INTEGER,
    minimumFreeBytes: 0,
    storedBytes: () => 0,
  });
  const app = express();
  app.use((_request, response, next) => {
    response.locals["operator"] = "dana";
    next();
  });
  app.use(createOperatorPage({ ledger, health, log, clock, showBodies }));
  const { url } = await listen(createServer(app));

  const ask = async (
    path: string,
    form?: readonly (readonly [name: string, value: string])[],
    headers = {},
  ) => {
    const response = await fetch(
      url + path,
      form && {
        method: "POST",
        body: new URLSearchParams(form.map(([name, value]): [string, string] => [name, value])),
        headers,
      },
    );
    return {
      status: response.status,
      headers: response.headers,
      text: (await response.text()).replaceAll(/\s+/g, " "),
    };
  };
  return { ...world, url, ask, lines, health };
}

const HANDLERS: JobHandler[] = [handler({ name: "pos" }), handler({ name: "crm" })];

type Page = Awaited<ReturnType<typeof startPage>>;

/** Events that died in `pos` for `error`, and were done in `crm`. Ids of the events. */
async function bury(page: Page, errors: readonly string[], body?: Buffer): Promise<string[]> {
  const events = errors.map(() => newEvent({ type: "order.created", ...(body ? { body } : {}) }));
  const reasons = new Map(events.map(({ id }, index) => [id, errors[index] ?? ""]));
  await accept(page.engine, events);
  const handle = async ({ handler: name, id }: { handler: string; id: string }): Promise<Outcome> =>
    name === "pos" ? { kind: "dead", error: reasons.get(id) ?? "?" } : { kind: "done" };
  const processor = await page.processing(handle, { handlers: HANDLERS });
  await page.ended(events.length * 2);
  await processor.drain(0);
  return events.map(({ id }) => id);
}

async function statesOf(page: Page, id: string): Promise<Record<string, string>> {
  const event = await page.engine.ledger.find(id);
  return Object.fromEntries((event?.jobs ?? []).map((job) => [job.handler, job.state]));
}

/** What a form of the page sends without anybody having filled it in. */
function hiddenFields(form: string) {
  const fields = form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)" \/>/g);
  return [...fields].map(([, name = "", value = ""]) => [name, value] as const);
}

describe("the operator's page", () => {
  test("begins with what died, by handler and reason, without the numbers that differ", async () => {
    const page = await startPage();
    await bury(page, [
      "Error: POS answered 503 after 812 ms of evt_ffff456789abcdef0123456789abcdef",
      "Error: POS answered 503 after 9.5 ms of evt_0123456789abcdef0123456789abcdef",
      "Error: no menu",
    ]);
    const { text, headers } = await page.ask("/");
    expect(text).toContain("Error: POS answered 503 after … ms");
    expect(text).toMatch(/POS answered[^]*?>2<[^]*?no menu[^]*?>1</);
    expect(text).toMatch(/class="dead"\s*>3</);
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    // Its own address holds what an operator looks for; a form of its own says where it comes from.
    expect(headers.get("referrer-policy")).toBe("same-origin");
  });

  test("says of what died alike when the newest came", async () => {
    const page = await startPage();
    const events = newEvents(2, { type: "order.created" });
    await accept(page.engine, events.slice(0, 1));
    await page.pass(3_600_000);
    await accept(page.engine, events.slice(1));
    await page.processing(async () => ({ kind: "dead", error: "no menu" }), { handlers: [handler()] });
    await page.ended(2);
    const newest = await page.engine.ledger.find(events[1]!.id);
    const { groups } = await groupDeadLetters(page.engine.ledger);
    expect(groups).toEqual([
      { handler: "everything", error: "no menu", jobs: 2, newestReceivedAtMs: newest?.receivedAtMs },
    ]);
  });

  test("offers to requeue all that a list shows by the fields that it was filtered by", async () => {
    const page = await startPage();
    await bury(page, ["Error: no menu"]);
    const filter = { state: "dead", type: "order.created", handler: "pos" };
    const { text } = await page.ask(`/events?${new URLSearchParams(filter).toString()}`);
    const form = text.split("<form").find((part) => part.includes("Requeue all that match")) ?? "";
    expect(Object.fromEntries(hiddenFields(form))).toEqual(filter);
  });

  test("says what isn't ready, and how old the oldest is", async () => {
    const page = await startPage();
    const { text: atRest } = await page.ask("/");
    expect(atRest).toContain("Nothing waits.");
    expect(atRest).toContain("Nothing of any handler waits, runs or is dead.");
    page.health.startDraining();
    await accept(page.engine, [newEvent()]);
    const { text } = await page.ask("/");
    expect(text).toContain("draining: shutting down");
    expect(text).toMatch(/oldest unfinished event came 0 s ago/);
  });

  test("requeues by handler and reason what has both in one job, and not in two", async () => {
    const page = await startPage();
    const event = newEvent({ type: "order.created" });
    await accept(page.engine, [event]);
    const processor = await page.processing(
      async ({ handler: name }) => ({ kind: "dead", error: `Error: ${name} is down` }),
      { handlers: HANDLERS },
    );
    await page.ended(2);
    await processor.drain(0);
    const asked = (handler: string, error: string) =>
      page.ask("/requeue", [
        ["state", "dead"],
        ["handler", handler],
        ["error", `Error: ${error} is down`],
      ]);
    expect((await asked("pos", "pos")).text).toContain("1 event gets");
    expect((await asked("pos", "crm")).text).toContain("Nothing to requeue");
  });

  test("leads from a page of the list to the older ones of the same filter, with all of it", async () => {
    const page = await startPage();
    const ids = await bury(
      page,
      Array.from({ length: 53 }, () => "Error: down"),
    );
    const filter = { state: "dead", type: "order.created", handler: "pos" };
    const first = await page.ask(`/events?${new URLSearchParams(filter).toString()}`);
    const link =
      /href="\/events\?([^"]*)">Older events/.exec(first.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const { before_seq: _before, ...kept } = Object.fromEntries(new URLSearchParams(link));
    expect(kept).toEqual(filter);
    const shown = ids.map((id) => first.text.includes(id));
    const older = await page.ask(`/events?${link}`);
    expect(ids.map((id) => older.text.includes(id))).toEqual(shown.map((isShown) => !isShown));
    expect(older.text).not.toContain("Older events");
  });

  test("requeues one job after asking, and nothing of its neighbour that is done", async () => {
    const page = await startPage();
    const [id = "", other = ""] = await bury(page, ["Error: a", "Error: a"]);
    const form = [
      ["id", id],
      ["handler", "pos"],
    ] as const;
    const asked = await page.ask("/requeue", form);
    expect(asked.text).toContain("1 event gets all attempts anew");
    expect(await statesOf(page, id)).toEqual({ pos: "dead", crm: "done" });
    // As a browser would: with all that the page has put into its form.
    const fields = hiddenFields(asked.text);
    expect(fields).toEqual([...form, ["confirmed", "yes"]]);
    const answered = await page.ask("/requeue", fields);
    expect(answered.text).toContain("1 event was requeued");
    expect(await statesOf(page, id)).toEqual({ pos: "pending", crm: "done" });
    expect(await statesOf(page, other)).toEqual({ pos: "dead", crm: "done" });
  });

  test("requeues all that died for the same reason, and no other, and logs who did", async () => {
    const page = await startPage();
    const ids = await bury(page, ["Error: 503 of 1", "Error: 503 of 2", "Error: no menu"]);
    const form = [
      ["state", "dead"],
      ["handler", "pos"],
      ["error", "Error: 503 of …"],
    ] as const;
    expect((await page.ask("/requeue", form)).text).toContain("2 events get");
    expect((await page.ask("/requeue", [...form, ["confirmed", "yes"]])).text).toContain(
      "2 events were requeued",
    );
    const states = await Promise.all(ids.map(async (id) => (await statesOf(page, id))["pos"]));
    expect(states).toEqual(["pending", "pending", "dead"]);
    expect(JSON.parse(page.lines.at(-1) ?? "{}")).toMatchObject({
      operator: "dana",
      requeued: 2,
      handler: "pos",
      msg: "an operator requeued events",
    });
    expect((await page.ask("/requeue", [...form, ["confirmed", "yes"]])).text).toContain(
      "0 events were requeued",
    );
  });

  test("requeues all of a filter beyond its first page of 500", async () => {
    const page = await startPage();
    await bury(
      page,
      Array.from({ length: 503 }, () => "Error: down"),
    );
    const form = [
      ["state", "dead"],
      ["confirmed", "yes"],
    ] as const;
    expect((await page.ask("/requeue", form)).text).toContain("503 events were requeued");
    expect((await page.engine.ledger.counts()).byState.dead).toBe(0);
  });

  test.each([
    ["of another site", { origin: "https://evil.example" }],
    ["of another port", { origin: "http://127.0.0.1:1" }],
    ["of a page without an origin", { origin: "null" }],
  ])("does nothing for a form %s", async (_what, headers) => {
    const page = await startPage();
    const [id = ""] = await bury(page, ["Error: a"]);
    const { status } = await page.ask(
      "/requeue",
      [
        ["id", id],
        ["confirmed", "yes"],
      ],
      headers,
    );
    expect(status).toBe(403);
    expect(await statesOf(page, id)).toMatchObject({ pos: "dead" });
  });

  test("does nothing for a form without a choice, or with one that makes no sense", async () => {
    const page = await startPage();
    expect((await page.ask("/requeue", [["confirmed", "yes"]])).text).toContain("tick at least one");
    for (const field of [
      ["id", "evt_x"],
      ["state", "lost"],
    ] as const)
      expect((await page.ask("/requeue", [field])).status).toBe(400);
    expect((await page.ask("/events?state=lost")).status).toBe(400);
    expect((await page.ask("/events/evt_x")).status).toBe(404);
  });

  test("takes a thousand ids, and names an event by its type where that is one", async () => {
    const page = await startPage();
    const ids = newEvents(1_000).map(({ id }) => ["id", id] as const);
    expect((await page.ask("/requeue", ids)).text).toContain("1,000 events get all attempts anew");
    for (const [type, title] of [
      ["order.created", "order.created"],
      ["Made <Up>", "other"],
    ] as const) {
      const event = newEvent({ type });
      await accept(page.engine, [event]);
      expect((await page.ask(`/events/${event.id}`)).text).toContain(`<h1>${title}</h1>`);
    }
  });

  test.each([49, 50, 51])("of %i events leads to older ones only where the page is full", async (count) => {
    const page = await startPage();
    await accept(page.engine, newEvents(count));
    expect((await page.ask("/events")).text.includes("Older events")).toBe(count >= 50);
  });

  test("shows of an event that is forgotten that it is", async () => {
    const page = await startPage();
    const [id = ""] = await bury(page, ["Error: a"]);
    const processor = await page.processing(async () => ({ kind: "done" }), { handlers: HANDLERS });
    await page.engine.ledger.requeue([id]);
    await page.ended(3);
    await processor.drain(0);
    await page.engine.ledger.prune({ bodiesOlderThanMs: -60_000, idsOlderThanMs: 1e12 });
    const { text } = await page.ask(`/events/${id}`);
    expect(text).toContain("<h1>A forgotten event</h1>");
    expect(text).toContain("It is not kept any more.");
  });

  test("shows no person unless it was told to", async () => {
    const body = newBody("order.created", { data: { object: { object: "order", phone: PHONE } } });
    for (const showBodies of [false, true]) {
      const page = await startPage({ showBodies });
      const [id = ""] = await bury(page, ["Error: a"], body);
      expect((await page.ask(`/events/${id}`)).text.includes(PHONE)).toBe(showBodies);
      expect((await page.ask("/events")).text).not.toContain(PHONE);
    }
  });

  test("shows foreign words as text, and what would turn the line round as an escape", async () => {
    const page = await startPage();
    const [id = ""] = await bury(page, [`<script>alert(1)</script>"'\u202Eevil`]);
    for (const path of ["/", "/events", `/events/${id}`]) {
      const { text } = await page.ask(path);
      expect(text).toContain(
        String.raw`&lt;script&gt;alert(…)&lt;/script&gt;&quot;&#39;\u202eevil`.replace(
          "(…)",
          path === "/" ? "(…)" : "(1)",
        ),
      );
      expect(text).not.toContain("<script");
    }
  });
});

describe.runIf(ALL)("the operator's page in a browser", () => {
  const browser = useBrowser();

  test.each([390, 768, 1280])("is usable and accessible at %i pixels", async (width) => {
    const page = await startPage();
    const [id = ""] = await bury(page, ["Error: POS answered 503", "Error: no menu"]);
    const tab = await browser.openPage(page.url, { viewport: { width, height: 800 }, script: AXE });
    await expectAccessible(tab);
    await tab.getByRole("button", { name: "Requeue …" }).first().click();
    await expectAccessible(tab);
    await tab.getByRole("button", { name: "Requeue 1" }).click();
    await tab.getByText("1 event was requeued.").waitFor();
    await tab.goto(`${page.url}/events?state=dead`);
    await expectAccessible(tab);
    const overflow = await tab.evaluate(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    expect(overflow).toBe(0);
    await tab.goto(`${page.url}/events/${id}`);
    await expectAccessible(tab);
    const event = await until(
      async () => page.engine.ledger.counts(),
      ({ byState }) => byState.dead === 1,
    );
    expect(event.byState.pending).toBe(1);
  });
});
