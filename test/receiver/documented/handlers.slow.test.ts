import Database from "better-sqlite3";
import { createServer } from "node:http";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { EventType } from "../../../shared/events.ts";
import { sampleEnvelope, sampleObjects } from "../../../shared/samples.ts";
import { createHandlerBench, type HandlerBench } from "../../../receiver/work/handler-bench.ts";
import type { Handler } from "../../../receiver/work/handler.ts";
import { listen } from "../../helpers/listen.ts";
import { newDatabase } from "../../helpers/postgres/shared.ts";
import { ALL } from "../../helpers/run/sizes.ts";
import { newEventId } from "../helpers/events.ts";
import { archive } from "./archive.ts";
import { booking } from "./booking.ts";
import { crm } from "./crm.ts";
import { email } from "./email.ts";
import { kitchen, loyalty } from "./fan-out.ts";
import { pdf } from "./pdf.ts";
import { pos } from "./pos.ts";
import { createServices } from "./services.ts";
import { slack } from "./slack.ts";
import { sms } from "./sms.ts";
import { warehouse } from "./two-databases.ts";

/** The handlers that docs/recipes.md shows, on both engines, against a service that answers what a test says. */

type Request = { path: string; key: string; body: Record<string, unknown> };
type Services = Awaited<ReturnType<typeof createServices>>["services"];

let asked: Request[];
let answers: { status: number; headers?: Record<string, string>; body?: object }[];
let services: Services;

beforeEach(async () => {
  asked = [];
  answers = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const body = JSON.parse(text) as Record<string, unknown>;
      asked.push({ path: request.url ?? "", key: String(request.headers["idempotency-key"]), body });
      const { status, headers = {}, body: said = {} } = answers.shift() ?? { status: 200 };
      response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(JSON.stringify(said));
    });
  });
  const { port } = await listen(server);
  vi.stubEnv("SHOP_URL", `http://127.0.0.1:${String(port)}`);
  vi.stubEnv("SHOP_TOKEN", "token");
  const made = await createServices();
  onTestFinished(made.close);
  ({ services } = made);
});
afterEach(() => void vi.unstubAllEnvs());

function event(type: EventType, object: object = {}) {
  return sampleEnvelope(type, { id: newEventId(), data: { object: { ...sampleObjects[type], ...object } } });
}

describe.each(ALL ? (["sqlite", "postgres"] as const) : (["sqlite"] as const))("on %s", (engine) => {
  async function bench<Given>(handler: Handler<Given>, given: Given): Promise<HandlerBench> {
    const database = engine === "postgres" ? await newDatabase() : undefined;
    const made = await createHandlerBench(handler, {
      services: given,
      ...(database ? { databaseUrl: database.url } : {}),
    });
    onTestFinished(async () => {
      await made.close();
      await database?.drop();
    });
    return made;
  }

  test("the CRM hears of one caller's events in their order, also when the first has to wait", async () => {
    const { run, advance } = await bench(crm, services);
    answers.push({ status: 503 });
    const first = await run(event("call.completed", { phone: "+12125550101" }));
    expect(first).toMatchObject({ outcome: "failed", nextAttemptInSeconds: 5 });
    const second = run(event("voicemail.created", { phone: "+12125550101" }));
    await run(event("voicemail.created", { phone: "+12125550102" }));
    expect(asked.map(({ body }) => body["phone"])).toEqual(["+12125550101", "+12125550102"]);
    if (engine === "postgres") return;
    expect(await advance(5)).toMatchObject([{ outcome: "done", attempt: 2 }]);
    expect(await second).toMatchObject({ outcome: "done" });
    expect(asked.map(({ body }) => body["object"])).toEqual(["call", "voicemail", "call", "voicemail"]);
  });

  test("both texts have a key of their own, the same on the next attempt", async () => {
    const { run, advance } = await bench(sms, services);
    answers.push({ status: 200 }, { status: 500 });
    const voicemail = event("voicemail.created");
    expect(await run(voicemail)).toMatchObject({ outcome: "failed" });
    const keys = [`${voicemail.id}:sms:caller`, `${voicemail.id}:sms:staff`];
    expect(asked.map(({ key }) => key)).toEqual(keys);
    if (engine === "postgres") return;
    expect(await advance(5)).toMatchObject([{ outcome: "done" }]);
    expect(asked.map(({ key }) => key)).toEqual([...keys, ...keys]);
  });

  test("a mail is sent once", async () => {
    const { run } = await bench(email, services);
    const made = event("booking.created");
    expect(await run(made)).toEqual({ outcome: "done", attempt: 1 });
    expect(await run(made)).toMatchObject({ outcome: "duplicate" });
    expect(asked).toMatchObject([{ path: "/mail", key: made.id }]);
  });

  test("a till that is busy is asked later, without an attempt used up; one that refuses is asked no more", async () => {
    const { run, advance, job } = await bench(pos, services);
    answers.push({ status: 429, headers: { "retry-after": "7" } });
    const order = event("order.created");
    expect(await run(order)).toMatchObject({ outcome: "later", nextAttemptInSeconds: 7 });
    expect(await job(order.id)).toMatchObject({ state: "pending", attempts: 0, deferred: true });
    answers.push({ status: 422 });
    expect(await run(event("order.created"))).toMatchObject({ outcome: "dead" });
    if (engine === "postgres") return;
    const later: unknown[] = [];
    for (let time = 0; time < 20; time += 1) {
      answers.push({ status: 429, headers: { "retry-after": "7" } });
      later.push(...(await advance(7)).map(({ outcome }) => outcome));
    }
    expect(later).toEqual(Array.from({ length: 20 }, () => "later"));
    expect(await advance(7)).toEqual([{ outcome: "done", attempt: 1 }]);
  });

  test.for([
    ["8:59", "later", 60],
    ["17:00", "later", 16 * 3_600],
    ["16:59", "done", undefined],
  ] as const)("Slack at %s hears of a transfer in office hours", async ([time, outcome, seconds]) => {
    const now = new Date();
    const [hour = 0, minute = 0] = time.split(":").map(Number);
    // Tomorrow, so that the opening is ahead of the database's clock too.
    now.setDate(now.getDate() + 1);
    now.setHours(hour, minute, 0, 0);
    const aheadSeconds = (now.getTime() - Date.now()) / 1_000;
    const { run } = await bench(slack, { ...services, now: () => now });
    const result = await run(event("call.transferred"));
    expect(result.outcome).toBe(outcome);
    const aheadOfOpening = Math.round(((result.nextAttemptInSeconds ?? NaN) - aheadSeconds) / 60);
    expect(aheadOfOpening).toBe(seconds === undefined ? NaN : seconds / 60);
  });

  test("a booking has one row, whatever its event lacks", async () => {
    const { run, rows } = await bench(booking, services);
    await run(event("booking.created", { id: "booking_1", party_size: "many" }));
    await run(event("booking.created", { id: "booking_1", party_size: 4 }));
    expect(await rows("SELECT booking_id FROM tables_booked WHERE guests = 2")).toEqual([
      { booking_id: "booking_1" },
    ]);
  });

  test("another database gets its row once, though ours fails after it", async () => {
    const other = new Database(":memory:");
    onTestFinished(() => void other.close());
    other.exec("CREATE TABLE calls (event_id TEXT PRIMARY KEY, outcome TEXT)");
    const insert = async (sql: string, values: string[]): Promise<void> => {
      other.prepare(sql).run(...values);
    };
    const { run, rows } = await bench(warehouse, { warehouse: { insert } });
    const call = event("call.completed");
    other.prepare("INSERT INTO calls VALUES (?, 'from an attempt that crashed')").run(call.id);
    expect(await run(call)).toMatchObject({ outcome: "done" });
    expect(other.prepare("SELECT count(*) AS calls FROM calls").get()).toEqual({ calls: 1 });
    expect(await rows("SELECT event_id FROM exported")).toEqual([{ event_id: call.id }]);
  });

  test("of two handlers of one event each asks for itself", async () => {
    const order = event("order.created");
    const toKitchen = await bench(kitchen, services);
    const toLoyalty = await bench(loyalty, services);
    await toKitchen.run(order);
    await toLoyalty.run(order);
    expect(asked.map(({ path, key }) => [path, key])).toEqual([
      ["/kitchen", `${order.id}:kitchen:ticket`],
      ["/points", `${order.id}:loyalty:points`],
    ]);
  });

  test("a receipt is made once, though its mail fails", async () => {
    const { run, advance } = await bench(pdf, services);
    answers.push({ status: 200, body: { url: "http://r/1" } }, { status: 500 });
    expect(await run(event("order.created"))).toMatchObject({ outcome: "failed" });
    expect(asked.map(({ path }) => path)).toEqual(["/pdf", "/mail"]);
    if (engine === "postgres") return;
    expect(await advance(5)).toMatchObject([{ outcome: "done" }]);
    expect(asked.map(({ path }) => path)).toEqual(["/pdf", "/mail", "/mail"]);
    expect(asked[2]?.body).toEqual({ attach: "http://r/1" });
  });

  test("the archive has events of every type", async () => {
    const { run, rows } = await bench(archive, services);
    await run(event("call.completed"));
    await run({ ...event("order.created"), type: "table.cleared" });
    expect(await rows("SELECT type FROM archive ORDER BY type")).toEqual([
      { type: "call.completed" },
      { type: "table.cleared" },
    ]);
  });
});

test("docs/recipes.md shows them as they are", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/recipes.md"), "utf8");
  const shown = [...page.matchAll(/```ts\n(?:\/\/ receiver\/handlers\/([a-z-]+\.ts)\n)(.*?)```$/gms)].map(
    ([, file, code]) => [file, code] as const,
  );
  const files = readdirSync(import.meta.dirname).filter((file) => !file.endsWith(".test.ts"));
  expect(new Set(shown.map(([file]) => file))).toEqual(new Set(files));
  for (const [file = "", code] of shown) {
    const source = readFileSync(join(import.meta.dirname, file), "utf8");
    expect(code).toBe(source.replaceAll("../../../receiver/work/", "../work/"));
  }
});
