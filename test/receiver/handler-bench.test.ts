import { expect, test } from "vitest";
import { RetryAfter, defineHandler, handlersWith, type CreateServices } from "../../receiver/work/handler.ts";
import { sampleEnvelope } from "../../shared/samples.ts";
import { bench } from "./helpers/bench.ts";
import { newEventId } from "./helpers/events.ts";
import { signalled } from "./helpers/until.ts";

/** The bench runs a handler as the receiver does, which it shares with it; so here only what is the bench's own. */

const call = () => sampleEnvelope("call.completed", { id: newEventId() });

test("says what came of an event, also of one that led to no attempt", async () => {
  const handler = defineHandler({ name: "calls", type: "call.completed", handle: async () => undefined });
  const { run, job } = await bench(handler);
  const event = call();
  expect(await run(event)).toEqual({ outcome: "done", attempt: 1 });
  expect(await run(event)).toEqual({ outcome: "duplicate", attempt: 0 });
  expect(await run(sampleEnvelope("order.created"))).toEqual({ outcome: "ignored", attempt: 0 });
  expect(await job(event.id)).toMatchObject({ handler: "calls", state: "done", handled: 1 });
  await expect(run({ id: "evt_1" })).rejects.toThrow("This is no event");
});

test("awaits whatever a handler returns", async () => {
  const type = "call.completed";
  const notes = defineHandler({ name: "notes", type, handle: (_, { log }) => log.info("came") });
  const archive = defineHandler({
    name: "archive",
    type,
    handle: ({ id }) =>
      new Promise((resolve) => setImmediate(resolve)).then(() => Promise.reject(new Error(id))),
  });
  const event = call();
  expect(await (await bench(notes)).run(event)).toEqual({ outcome: "done", attempt: 1 });
  expect(await (await bench(archive)).run(event)).toMatchObject({
    outcome: "failed",
    error: `Error: ${event.id}`,
  });
});

test("has time pass for retries, what is put off, and deadlines", async () => {
  const begun = signalled();
  const failing = defineHandler({
    name: "calls",
    type: "call.completed",
    timeoutSeconds: 30,
    handle: async (_, { attempt, signal }) => {
      if (attempt === 1) throw new Error("not yet");
      begun.give();
      await new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    },
  });
  const { run, advance } = await bench(failing, { environment: { MAX_ATTEMPTS: "2" } });
  expect(await run(call())).toEqual({
    outcome: "failed",
    attempt: 1,
    error: "Error: not yet",
    nextAttemptInSeconds: 5,
  });
  expect(await advance(4)).toEqual([]);
  const second = advance(1);
  await begun.promise;
  expect(await advance(30)).toEqual([]);
  expect(await second).toMatchObject([
    { outcome: "dead", attempt: 2, error: expect.stringContaining("within 30 s") },
  ]);
});

test("puts off by MAX_AGE_HOURS at the most", async () => {
  const later = defineHandler({
    name: "calls",
    type: "call.completed",
    handle: async () => {
      throw new RetryAfter(3_600);
    },
  });
  const { run, advance } = await bench(later, { environment: { MAX_AGE_HOURS: "1" } });
  expect(await run(call())).toMatchObject({ outcome: "later", nextAttemptInSeconds: 3_600 });
  expect(await advance(3_600)).toMatchObject([
    { outcome: "dead", error: expect.stringContaining("MAX_AGE_HOURS (1)") },
  ]);
});

test("hands in services, with their types", async () => {
  const withTill = handlersWith<CreateServices<{ till: (order: string) => void }>>();
  const rung: string[] = [];
  const handler = withTill({
    name: "till",
    type: "call.completed",
    handle: async (event, { services }) => services.till(event.id),
  });
  const { run } = await bench(handler, { services: { till: (order: string) => void rung.push(order) } });
  const event = call();
  await run(event);
  expect(rung).toEqual([event.id]);
});

test("shows rows as the handler sees them, and why there are none; a handler of all types hears nothing of it", async () => {
  const seen: string[] = [];
  const handler = defineHandler({
    name: "all",
    type: "*",
    key: ({ type }) => type,
    migrations: ["CREATE TABLE seen (id TEXT)"],
    handle: async (event, { atomically }) => {
      seen.push(event.type);
      await atomically(async (db) => void (await db.query("INSERT INTO seen VALUES ($1)", [event.id])));
    },
  });
  const { run, rows } = await bench(handler);
  const event = call();
  await run(event);
  expect(await rows("SELECT * FROM seen WHERE id = $1", [event.id])).toEqual([{ id: event.id }]);
  await expect(rows("SELECT * FROM nowhere")).rejects.toThrow("no such table");
  await expect(rows("COMMIT")).rejects.toThrow("COMMIT");
  expect(seen).toEqual(["call.completed"]);
});

test("a handler that ignores its deadline is told of as failed, and knows of no end", async () => {
  const begun = signalled();
  const endless = defineHandler({
    name: "calls",
    type: "call.completed",
    timeoutSeconds: 30,
    handle: async () => {
      begun.give();
      return new Promise(() => undefined);
    },
  });
  const { run, advance } = await bench(endless);
  const running = run(call());
  await begun.promise;
  for (const seconds of [30, 5]) await advance(seconds);
  expect(await running).toEqual({
    outcome: "failed",
    attempt: 0,
    error: expect.stringContaining("did not finish within 30 s"),
  });
});

test("takes an id for the same in capitals", async () => {
  const handler = defineHandler({ name: "calls", type: "call.completed", handle: async () => undefined });
  const { run, job } = await bench(handler);
  const event = call();
  const capitals = { ...event, id: event.id.toUpperCase().replace("EVT", "evt") };
  expect(await run(capitals)).toEqual({ outcome: "done", attempt: 1 });
  expect(await run(event)).toEqual({ outcome: "duplicate", attempt: 0 });
  expect(await job(event.id)).toMatchObject({ state: "done" });
});
