import { expect, test } from "vitest";
import { z } from "zod";
import { PermanentFailure, RetryAfter, defineHandler } from "../../../receiver/work/handler.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { bench as openBench } from "../helpers/bench.ts";
import { signalled } from "../helpers/until.ts";
import { bench, benchWith } from "./known-handler.ts";

/** How attempts end. The bench runs them as the receiver does. */

const HOUR = 3_600;
const text = (part: string): unknown => expect.stringContaining(part);

test("an attempt whose handler returns is done, and its context is as documented", async () => {
  const services = { crm: "ours" };
  const { run, event, contexts } = await benchWith({ services }, () => "what it returns is ignored");
  expect(await run()).toEqual({ outcome: "done", attempt: 1 });
  const [context] = contexts;
  expect(context).toMatchObject({ attempt: 1, idempotencyKey: event.id, services });
  expect(context?.api).toBeUndefined();
  expect(context?.idempotencyKeyFor("sms")).toBe(`${event.id}:known:sms`);
  expect(context?.signal.aborted).toBe(false);
});

test.for<[string, unknown, string]>([
  ["an error", new TypeError("boom"), "TypeError: boom"],
  ["a text", "a text", "a text"],
  ["what has no text", Object.create(null), "The thrown value has no text."],
])(
  "an attempt whose handler throws %s has failed, and comes again after its backoff",
  async ([, thrown, error]) => {
    const { run, advance } = await bench(({ attempt }) => {
      if (attempt === 1) throw thrown;
    });
    expect(await run()).toEqual({ outcome: "failed", attempt: 1, error, nextAttemptInSeconds: 5 });
    expect(await advance(4.999)).toEqual([]);
    expect(await advance(0.001)).toEqual([{ outcome: "done", attempt: 2 }]);
  },
);

test("after maxAttempts failures the job is dead, and the thrown message is kept without personal data and secrets", async () => {
  const { run, advance, job } = await benchWith(
    { maxAttempts: 2, environment: { SIGNING_SECRET: "k".repeat(20) } },
    async () => Promise.reject(new Error(`no answer from +12125550142, key ${"k".repeat(20)}`)),
  );
  await run();
  const [second] = await advance(5);
  expect(second).toMatchObject({ outcome: "dead", attempt: 2, error: text("no answer from") });
  expect(await job()).toMatchObject({ state: "dead", attempts: 2 });
  expect(JSON.stringify(await job())).not.toMatch(/2125550142|kkkkk/);
});

test("PermanentFailure is dead at once, also a subclass of it", async () => {
  class NoSuchOrder extends PermanentFailure {}
  const { run } = await bench(async () => Promise.reject(new NoSuchOrder("no such order")));
  expect(await run()).toEqual({ outcome: "dead", attempt: 1, error: "PermanentFailure: no such order" });
});

test("RetryAfter runs again at its time without using up an attempt: seconds, a date, never below one second", async () => {
  const times = [90, new Date("2026-03-01T13:00:00Z"), 0, new Date(0), 1.2345];
  const { run, advance } = await benchWith({ now: "2026-03-01T12:00:00Z", maxAttempts: 1 }, () => {
    const when = times.shift();
    if (when !== undefined) throw new RetryAfter(when);
  });
  expect(await run()).toEqual({
    outcome: "later",
    attempt: 1,
    error: "RetryAfter: Asked to come back in 90 s.",
    nextAttemptInSeconds: 90,
  });
  expect(await advance(90)).toMatchObject([
    { outcome: "later", attempt: 1, nextAttemptInSeconds: HOUR - 90 },
  ]);
  expect(await advance(HOUR - 90)).toMatchObject([{ outcome: "later", nextAttemptInSeconds: 1 }]);
  expect(await advance(1)).toMatchObject([{ outcome: "later", nextAttemptInSeconds: 1 }]);
  expect(await advance(1)).toMatchObject([{ outcome: "later" }]);
  expect(await advance(1.234)).toEqual([]);
  expect(await advance(0.001)).toEqual([{ outcome: "done", attempt: 1 }]);
});

test("RetryAfter is bounded by 20 days and by MAX_AGE_HOURS: the last attempt comes at that age, and then the job is dead", async () => {
  const { run, advance } = await benchWith({ environment: { MAX_AGE_HOURS: "481" } }, async () =>
    Promise.reject(new RetryAfter(500 * HOUR)),
  );
  expect(await run()).toMatchObject({ outcome: "later", nextAttemptInSeconds: 480 * HOUR });
  expect(await advance(480 * HOUR)).toMatchObject([{ outcome: "later", nextAttemptInSeconds: HOUR }]);
  const dead = { outcome: "dead", attempt: 1, error: text("deferred for MAX_AGE_HOURS") };
  expect(await advance(HOUR)).toMatchObject([dead]);
});

test.for([Number.NaN, -1, Infinity, new Date(Number.NaN)])("RetryAfter refuses %s: it is no time", (when) => {
  expect(() => new RetryAfter(when)).toThrow(RangeError);
});

test("an event that lacks a field of the handler's schema is dead, and the reason names the field", async () => {
  const object = z.looseObject({ duration_sec: z.int(), nothing: z.string() });
  const { run, contexts } = await benchWith({ object }, () => undefined);
  expect(await run()).toMatchObject({ outcome: "dead", error: text("data.object.nothing: ") });
  expect(contexts).toEqual([]);
});

test("a schema that throws fails the attempt", async () => {
  const object = z.unknown().transform(() => {
    throw new Error("no schema");
  });
  const { run } = await benchWith({ object }, () => undefined);
  expect(await run()).toMatchObject({ outcome: "failed", error: "Error: no schema" });
});

test("without a schema, a documented field of another kind counts as missing, and a text in a new format is kept", async () => {
  const seen: unknown[] = [];
  const handler = defineHandler({
    name: "lenient",
    type: "call.completed",
    handle: ({ data: { object } }) =>
      void seen.push([object.duration_sec, object.phone, object.id, object.created_at]),
  });
  const { run } = await openBench(handler);
  const object = { object: "call", id: "c-1", duration_sec: "94", phone: null, created_at: "yesterday" };
  expect(await run(sampleEnvelope("call.completed", { data: { object } }))).toMatchObject({
    outcome: "done",
  });
  expect(seen).toEqual([[undefined, null, "c-1", "yesterday"]]);
});

test("a handler may use other members of its definition", async () => {
  const seen: string[] = [];
  const definition = {
    name: "regional",
    type: "call.completed",
    region: "north",
    handle() {
      seen.push(this.region);
    },
  } as const;
  const { run } = await openBench(defineHandler(definition));
  await run(sampleEnvelope("call.completed"));
  expect(seen).toEqual(["north"]);
});

test("the deadline aborts the signal, and the attempt has failed only when the handler has ended", async () => {
  const begun = signalled();
  const ending = signalled();
  let attempts = 0;
  const { run, advance, contexts } = await benchWith({ timeoutSeconds: 30 }, async () => {
    attempts += 1;
    begun.give();
    await ending.promise;
  });
  const running = run();
  await begun.promise;
  await advance(29.9);
  expect(contexts[0]?.signal.aborted).toBe(false);
  await advance(0.1);
  expect(contexts[0]?.signal.reason).toMatchObject({ name: "DeadlinePassed" });
  await advance(4.9);
  expect(attempts).toBe(1);
  ending.give();
  const failed = { outcome: "failed", error: "DeadlinePassed: The handler did not finish within 30 s." };
  expect(await running).toMatchObject(failed);
});

test("the deadline is the reason of a failure, also if the handler says in its own words that it was aborted", async () => {
  const begun = signalled();
  const { run, advance } = await benchWith({ timeoutSeconds: 30 }, async ({ signal }) => {
    begun.give();
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(new PermanentFailure("fetch failed")));
    });
  });
  const running = run();
  await begun.promise;
  await advance(30);
  expect(await running).toMatchObject({ outcome: "failed", error: text("within 30 s") });
});

test("a handler that throws has what else it began aborted; one that returns has not", async () => {
  const thrown = new Error("no table");
  const { run, advance, contexts } = await bench(({ attempt }) => {
    if (attempt === 1) throw thrown;
  });
  await run();
  await advance(5);
  expect(contexts.map(({ signal }) => signal.reason as unknown)).toEqual([thrown, undefined]);
});

test("atomically commits its writes and done together, and a later throw changes nothing", async () => {
  const { run, rows, job } = await bench(async ({ atomically, idempotencyKey }) => {
    await atomically(async (db) => db.query("INSERT INTO effects VALUES ($1)", [idempotencyKey]));
    throw new Error("too late");
  });
  expect(await run()).toEqual({ outcome: "done", attempt: 1, error: "Error: too late" });
  expect(await rows("SELECT count(*) AS rows FROM effects")).toEqual([{ rows: 1 }]);
  expect(await job()).toMatchObject({ state: "done", handled: 1, attempts: 1 });
});

test("an atomically that the handler does not await fails the attempt, and writes nothing", async () => {
  const { run, rows } = await bench(({ atomically }) => {
    void atomically(async (db) => db.query("INSERT INTO effects VALUES ('one')"));
  });
  expect(await run()).toMatchObject({
    outcome: "failed",
    error: expect.stringMatching(/^NotAwaited: .*await it/),
  });
  expect(await rows("SELECT * FROM effects")).toEqual([]);
});

test("a second atomically is refused, whether the first committed or failed", async () => {
  const { run } = await bench(async ({ atomically }) => {
    await expect(atomically(async (db) => db.query("SELECT nonsense"))).rejects.toThrow("nonsense");
    await atomically(async () => undefined);
  });
  expect(await run()).toMatchObject({ outcome: "failed", error: text("call it once, last") });
});

test("a handler's lines carry event, handler and attempt, and hide personal fields by name", async () => {
  const { run, logs, event } = await bench(({ log }) =>
    log.info({ phone: "+12125550101", order: 7 }, "took it"),
  );
  await run();
  const line = { level: "info", msg: "took it", event_id: event.id, handler: "known", attempt: 1, order: 7 };
  expect(logs).toMatchObject([line]);
  expect(JSON.stringify(logs)).not.toContain("2125550101");
});
