import { readdirSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { createHandlerBench } from "../../../receiver/work/bench.ts";
import {
  defineHandler,
  handlersWith,
  RetryAfter,
  type CreateServices,
} from "../../../receiver/work/handler.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { bench } from "../helpers/bench.ts";
import { newEventId } from "../helpers/events.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { signalled } from "../helpers/until.ts";

/** The bench runs a handler as the receiver does; these tests cover what only the bench does. */

const call = (object: object = {}) =>
  sampleEnvelope("call.completed", { id: newEventId(), data: { object: { object: "call", ...object } } });

const type = "call.completed";

test("an event that led to no attempt says why: a duplicate, or ignored", async () => {
  const { run, job } = await bench(defineHandler({ name: "calls", type, handle: () => undefined }));
  const event = call();
  expect(await run(event)).toEqual({ outcome: "done", attempt: 1 });
  expect(await run(event)).toEqual({ outcome: "duplicate", attempt: 0 });
  const capitals = { ...event, id: event.id.toUpperCase().replace("EVT", "evt") };
  expect(await run(capitals)).toEqual({ outcome: "duplicate", attempt: 0 });
  expect(await run(sampleEnvelope("order.created"))).toEqual({ outcome: "ignored", attempt: 0 });
  expect(await job(event.id)).toMatchObject({ handler: "calls", state: "done", handled: 1 });
  await expect(run({ id: "evt_1" })).rejects.toThrow("This is not an event");
});

test("it gives back its folder, which has the database unless another is named", async () => {
  const folder = temporaryDirectory();
  vi.stubEnv("TMPDIR", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const calls = defineHandler({ name: "calls", type, handle: () => undefined });
  const { close } = await createHandlerBench(calls, { databaseUrl: "" });
  expect(readdirSync(folder, { recursive: true }).join()).toMatch(/^handler-bench-.*receiver\.db/);
  await close();
  expect(readdirSync(folder)).toEqual([]);
});

test("an event behind its key is held, and its attempt comes when the one before it has ended", async () => {
  let attempts = 0;
  const keyed = defineHandler({
    name: "keyed",
    type,
    key: "data.object.phone",
    handle: () => {
      attempts += 1;
      if (attempts === 1) throw new Error("not yet");
    },
  });
  const { run, advance, job } = await bench(keyed);
  const [first, second] = [call({ phone: "1" }), call({ phone: "1" })];
  expect(await run(first)).toMatchObject({ outcome: "failed" });
  expect(await run(second)).toEqual({ outcome: "held", attempt: 0 });
  expect(await run(call({ phone: "2" }))).toMatchObject({ outcome: "done" });
  expect(await advance(5)).toEqual([
    { outcome: "done", attempt: 2 },
    { outcome: "done", attempt: 1 },
  ]);
  expect(await job(second.id)).toMatchObject({ state: "done" });
});

test("an event behind one that still runs is held at once", async () => {
  const ending = signalled();
  const keyed = defineHandler({
    name: "keyed",
    type,
    key: "type" as "org_id",
    handle: async () => ending.promise,
  });
  const { run } = await bench(keyed);
  const first = run(call());
  expect(await run(call())).toEqual({ outcome: "held", attempt: 0 });
  ending.give();
  expect(await first).toEqual({ outcome: "done", attempt: 1 });
});

test("its clock starts at the given time, and stands still until it is moved", async () => {
  const hours: number[] = [];
  const office = handlersWith<CreateServices<{ now: () => Date }>>()({
    name: "office",
    type,
    handle: (_, { services }) => {
      const hour = services.now().getUTCHours();
      hours.push(hour);
      if (hour < 9) throw new RetryAfter(new Date("2026-03-01T09:00:00Z"));
    },
  });
  let now = new Date("2026-03-01T07:30:00Z");
  const { run, advance } = await bench(office, { services: { now: () => now }, now });
  expect(await run(call())).toMatchObject({ outcome: "later", nextAttemptInSeconds: 5_400 });
  expect(await advance(5_399)).toEqual([]);
  now = new Date("2026-03-01T09:00:00Z");
  expect(await advance(1)).toMatchObject([{ outcome: "done" }]);
  expect(hours).toEqual([7, 9]);
  await expect(bench(office, { now: "noon" })).rejects.toThrow("noon");
});

test("rows returns the handler's rows, and says why there are none", async () => {
  const handler = defineHandler({
    name: "all",
    type: "*",
    migrations: ["CREATE TABLE seen (id TEXT)"],
    handle: async ({ id }, { atomically }) =>
      atomically((db) => db.query("INSERT INTO seen VALUES ($1)", [id])),
  });
  const { run, rows } = await bench(handler);
  const event = call();
  await run(event);
  expect(await rows("SELECT * FROM seen WHERE id = $1", [event.id])).toEqual([{ id: event.id }]);
  await expect(rows("SELECT * FROM nowhere")).rejects.toThrow("no such table");
});

test("a handler that ignores its deadline has failed, and run() returns", async () => {
  const begun = signalled();
  const endless = defineHandler({
    name: "calls",
    type,
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
  expect(await running).toMatchObject({
    outcome: "failed",
    attempt: 1,
    error: expect.stringContaining("30 s"),
  });
});

test("settings of the receiver count by their names, and a wrong one is refused", async () => {
  const failing = defineHandler({
    name: "calls",
    type,
    handle: () => {
      throw new Error("no");
    },
  });
  const { run } = await bench(failing, { environment: { MAX_ATTEMPTS: "1" } });
  expect(await run(call())).toMatchObject({ outcome: "dead" });
  await expect(bench(failing, { environment: { MAX_ATTEMPTS: "0" } })).rejects.toThrow("MAX_ATTEMPTS");
});
