import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import type { CreateServices, Handler } from "../../receiver/work/handler.ts";
import { sampleEnvelope } from "../../shared/samples.ts";
import { bench } from "../receiver/helpers/bench.ts";
import { ROOT } from "../repository/files.ts";
import { blocksOf } from "./pages.ts";

/** Runs the recipes of the page against a faulty service. */

type Services = { post: unknown; now: () => Date };
type Answer = { status?: number; headers?: Record<string, string>; body?: string } | "silence";
type Asked = { path: string | undefined; key: unknown; body: string };

let answers: Answer[];
let asked: Asked[];
let services: Services;
let handlers: Record<string, Handler<Services>>;

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "recipes-"));
  for (const { text: code } of blocksOf("docs/recipes.md")) {
    const [, file = ""] = /^\/\/ (receiver\/handlers\/[\w-]+\.ts)$/m.exec(code) ?? [];
    const source = code
      .replaceAll('"../work/', `"${ROOT}receiver/work/`)
      .replaceAll('"zod"', `"${import.meta.resolve("zod")}"`);
    writeFileSync(join(folder, basename(file)), source);
  }
  const recipes = (await import(/* @vite-ignore */ pathToFileURL(join(folder, "index.ts")).href)) as {
    handlers: Handler<Services>[];
    createServices: CreateServices<Services>;
  };
  handlers = Object.fromEntries(recipes.handlers.map((one) => [one.name, one]));
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = z.object({ port: z.number() }).parse(server.address());
  Object.assign(process.env, { SHOP_URL: `http://127.0.0.1:${String(port)}`, SHOP_TOKEN: "t" });
  ({ services } = await recipes.createServices());
  delete process.env["SHOP_URL"];
  delete process.env["SHOP_TOKEN"];
  return () => {
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true });
  };
});
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  asked.push({ path: request.url, key: request.headers["idempotency-key"], body });
  const next = answers.shift() ?? {};
  if (next === "silence") return;
  const { status = 200, headers = {}, body: said = "ok" } = next;
  response.writeHead(status, headers).end(said);
}

beforeEach(() => {
  answers = [];
  asked = [];
});

async function benchOf(name: string, options: { services?: Services; now?: string } = {}) {
  const handler = handlers[name];
  if (!handler) throw new Error(`There is no recipe ${name}.`);
  return bench(handler, { services, ...options });
}

test.each([
  { name: "kitchen", type: "order.created", calls: 1 },
  { name: "email", type: "voicemail.created", calls: 2 },
  { name: "crm", type: "call.completed", calls: 1 },
  { name: "slack", type: "call.transferred", calls: 1 },
] as const)(
  "$name copes with a service that is busy, silent, broken, and then works",
  async ({ name, type, calls }) => {
    answers = [
      { status: 429, headers: { "retry-after": "7" }, body: "slow down" },
      { status: 503, headers: { "retry-after": "Mon, 02 Mar 2026 15:01:00 GMT" } },
      "silence",
      { status: 500 },
      { body: "ok" },
    ];
    const now = "2026-03-02T15:00:00Z";
    const { run, advance } = await benchOf(name, {
      services: { ...services, now: () => new Date(now) },
      now,
    });
    expect(await run(sampleEnvelope(type))).toMatchObject({ outcome: "later", nextAttemptInSeconds: 7 });
    expect(await advance(7)).toMatchObject([{ outcome: "later", nextAttemptInSeconds: 53 }]);
    const silent = advance(53);
    await expect.poll(() => asked.length).toBe(3);
    await advance(60);
    expect(await silent).toMatchObject([{ outcome: "failed", attempt: 1 }]);
    expect(await advance(60)).toMatchObject([{ outcome: "failed", attempt: 2 }]);
    expect(await advance(60)).toMatchObject([{ outcome: "done", attempt: 3 }]);
    expect(new Set(asked.map(({ key }) => key)).size).toBe(calls);
  },
);

test("an order that the kitchen refuses is dead at once, with its answer", async () => {
  answers = [{ status: 422, body: "no such dish" }];
  const { run } = await benchOf("kitchen");
  expect(await run(sampleEnvelope("order.created"))).toMatchObject({
    outcome: "dead",
    error: expect.stringContaining("no such dish"),
  });
});

test("a booking is one row, even without the expected fields", async () => {
  const { run, rows } = await benchOf("bookings");
  const event = sampleEnvelope("booking.created");
  const bare = {
    ...sampleEnvelope("booking.created"),
    id: `evt_${"1".repeat(32)}`,
    data: { object: { id: "bk_2" } },
  };
  expect([await run(event), await run(bare)]).toMatchObject([{ outcome: "done" }, { outcome: "done" }]);
  expect(await rows("SELECT guests FROM bookings WHERE booking_id = 'bk_2'")).toEqual([{ guests: 2 }]);
});

test("if the second of two mails fails, only that one is sent again; each has its own key", async () => {
  answers = [{}, { status: 500 }];
  const { run, advance } = await benchOf("email");
  expect(await run(sampleEnvelope("voicemail.created"))).toMatchObject({ outcome: "failed" });
  expect(await advance(30)).toMatchObject([{ outcome: "done" }]);
  expect(asked.map(({ body }) => /owner|staff/.exec(body)?.[0])).toEqual(["owner", "staff", "staff"]);
  const [owner, staff, again] = asked.map(({ key }) => key);
  expect([staff === again, owner === staff]).toEqual([true, false]);
});

test("a caller's later call waits until the CRM has the earlier one, another caller's does not", async () => {
  answers = [{ status: 500 }];
  const { run, advance } = await benchOf("crm");
  const call = (digit: string, phone?: string) => {
    const event = sampleEnvelope("call.completed");
    return { ...event, id: `evt_${digit.repeat(32)}`, data: { object: { ...event.data.object, phone } } };
  };
  expect(await run(call("1", "+1"))).toMatchObject({ outcome: "failed" });
  expect(await run(call("2", "+1"))).toMatchObject({ outcome: "held" });
  expect(await run(call("3", "+2"))).toMatchObject({ outcome: "done" });
  expect(await run(call("4"))).toMatchObject({ outcome: "done" });
  expect(await advance(10)).toMatchObject([{ outcome: "done" }, { outcome: "done" }]);
  expect(asked.map(({ key }) => String(key).slice(4, 5))).toEqual(["1", "3", "4", "1", "2"]);
});

test.each([
  { what: "the morning", at: "2026-03-02T12:30:00Z", outcome: "later", waits: 90 * 60 },
  { what: "office hours", at: "2026-03-02T14:00:00Z", outcome: "done", waits: undefined },
  { what: "the last minute", at: "2026-03-02T21:59:00Z", outcome: "done", waits: undefined },
  { what: "the evening", at: "2026-03-02T22:00:00Z", outcome: "later", waits: 16 * 3_600 },
  { what: "the night", at: "2026-03-03T04:59:00Z", outcome: "later", waits: 9 * 3_600 + 60 },
])("Slack gets a transfer in $what in New York: $outcome", async ({ at, outcome, waits }) => {
  const { run } = await benchOf("slack", { services: { ...services, now: () => new Date(at) }, now: at });
  const result = await run(sampleEnvelope("call.transferred"));
  expect([result.outcome, result.nextAttemptInSeconds]).toEqual([outcome, waits]);
});
