import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import {
  defineHandler,
  PermanentFailure,
  RetryAfter,
  type Handler,
  type ReceiverOptions,
} from "../../../receiver/index.ts";
import { idOf, newBody, newEventId } from "../helpers/events.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { databaseUrl, mount } from "./mount.ts";

/** Handlers that an app gives as an array: they run in its own process. */

async function start(handlers: readonly Handler[], url: string, onDead?: ReceiverOptions["onDead"]) {
  const lines: { msg: string; handler?: string; outcome?: string }[] = [];
  const logTo = (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]);
  const options = { databaseUrl: url, handlers, logTo, environment: {}, ...(onDead && { onDead }) };
  const { receiver, send: post } = await mount(options);
  const send = async (type: string): Promise<void> => {
    expect((await post(newBody("call.completed", { type }))).status).toBe(200);
  };
  return { receiver, lines, send };
}

const object = z.looseObject({});
/** A time that a RetryAfter may name. */
const FAR = new Date(Date.now() + 3_600_000).toISOString();

test("handlers in an array handle events in this process, with retries, dead letters, onDead and metrics", async () => {
  const handled: { type: string; process: number }[] = [];
  const never = () => Promise.reject(new PermanentFailure("never"));
  const handlers = [
    defineHandler({
      name: "first",
      type: ["one", "two"],
      object,
      handle: async ({ type }) => void handled.push({ type, process: process.pid }),
    }),
    defineHandler({ name: "second", type: "two", object, handle: never }),
  ];
  const dead: unknown[] = [];
  const { receiver, lines, send } = await start(handlers, databaseUrl(), ({ event, ...rest }) =>
    dead.push({ type: event.type, ...rest }),
  );
  await send("one");
  await send("two");
  await expect.poll(() => lines.filter(({ outcome }) => outcome !== undefined).length).toBe(3);
  expect(handled).toEqual([
    { type: "one", process: process.pid },
    { type: "two", process: process.pid },
  ]);
  expect(lines.filter(({ outcome }) => outcome === "dead").map(({ handler }) => handler)).toEqual(["second"]);
  expect(dead).toEqual([
    { type: "two", handler: "second", attempts: 1, error: expect.stringContaining("never") as unknown },
  ]);
  await expect
    .poll(async () => (await receiver.metrics()).body)
    .toMatch(/receiver_handling_seconds_count\{[^}]*outcome="dead"[^}]*\} 1/);
});

test("a receiver that repeatedly fails to start keeps no file open, and closes its services", async () => {
  const directory = temporaryDirectory();
  const databaseUrl = `sqlite:${join(directory, "receiver.db")}`;
  const migrations = ["CREATE TABEL calls"];
  const broken = defineHandler({ name: "broken", type: "one", migrations, handle: () => undefined });
  const closed: number[] = [];
  for (const handlers of [[broken], [broken, broken]]) {
    const createServices = async () => ({ services: {}, close: () => void closed.push(handlers.length) });
    const starting = mount({ handlers, createServices, databaseUrl });
    await expect(starting).rejects.toThrow(/TABEL|Two handlers/);
  }
  expect(closed).toEqual([1, 2]);
  // Closing the last connection deletes the write-ahead log.
  expect(readdirSync(directory).toSorted()).toEqual(["receiver.db", "receiver.db-lock"]);
});

const FAKED = ["setImmediate", "setTimeout", "setInterval", "performance"] as const;

test.each([
  ["all that stands still by default", {}],
  ["immediates, timers and clocks", { toFake: [...FAKED] }],
])("under the fake timers of a test (%s) events are acknowledged and handled as usual", async (_, config) => {
  const handled = Promise.withResolvers<string>();
  const handlers = [
    defineHandler({ name: "h", type: "one", object, handle: async ({ type }) => handled.resolve(type) }),
  ];
  const { receiver, send } = await start(handlers, databaseUrl());
  vi.useFakeTimers(config);
  onTestFinished(() => void vi.useRealTimers());
  await send("one");
  expect(await handled.promise).toBe("one");
  await receiver.stop();
});

test("a stop waits for the running handler, and other jobs remain for the next start", async () => {
  const url = databaseUrl();
  const begun = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const ended: string[] = [];
  const slow = defineHandler({
    name: "slow",
    type: "slow",
    object,
    handle: async () => {
      begun.resolve();
      await go.promise;
      ended.push("slow");
    },
  });
  const late: string[] = [];
  const handle = async () => void late.push("late");
  const handler = defineHandler({ name: "late", type: "late", object, handle });
  const first = await start([slow, handler], url);
  await first.send("slow");
  await begun.promise;
  // A second receiver on this file waits until the first ends, and can be stopped while it waits.
  const second = await start([slow, handler], url);
  await second.receiver.stop();
  expect(second.lines).toEqual([]);
  const stopped = first.receiver.stop().then(() => ended.push("stopped"));
  go.resolve();
  await stopped;
  expect(ended).toEqual(["slow", "stopped"]);

  const onlyTakes = await mount({ databaseUrl: url });
  await onlyTakes.send(newBody("call.completed", { type: "late" }));
  await onlyTakes.receiver.stop();
  await start([slow, handler], url);
  await expect.poll(() => late).toEqual(["late"]);
});

const ANY = [defineHandler({ name: "any", type: "*", handle: () => undefined })];
test("a log that fails is reported, and disturbs neither an answer nor a handler", async () => {
  const report = vi.spyOn(console, "error").mockImplementation(() => undefined);
  onTestFinished(() => report.mockRestore());
  const logTo = (): never => {
    throw new Error("full");
  };
  const { receiver, send } = await mount({ handlers: ANY, logTo, environment: {} });
  const body = newBody();
  expect((await send(body)).status).toBe(200);
  await expect.poll(async () => receiver.handled(idOf(body))).toEqual({ handled: 1, state: "done" });
  await expect.poll(() => report.mock.calls.length).toBe(2);
});

test("the services of an app are closed when its handlers have ended", async () => {
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ended: string[] = [];
  const handle = async (): Promise<void> => {
    begun.resolve();
    await go.promise;
    ended.push("handled");
  };
  const { receiver, send } = await mount({
    handlers: [defineHandler({ name: "slow", type: "*", handle })],
    createServices: async () => ({ services: {}, close: () => void ended.push("closed") }),
  });
  await send();
  await begun.promise;
  const stopped = receiver.stop();
  go.resolve();
  await stopped;
  expect(ended).toEqual(["handled", "closed"]);
});

test("handled() says how often an event was handled, its state, and until when it is deferred", async () => {
  const later = defineHandler({
    name: "later",
    type: "order.created",
    handle: () => Promise.reject(new RetryAfter(new Date(FAR))),
  });
  const all = defineHandler({ name: "all", type: "call.completed", handle: () => undefined });
  const { receiver, send } = await mount({ handlers: [later, all] });
  const [call, order] = [newBody(), newBody("order.created")];
  for (const body of [call, order]) await send(body);
  const look = async (body: Buffer) => receiver.handled(idOf(body));
  await expect.poll(async () => look(call)).toEqual({ handled: 1, state: "done" });
  const deferred = { handled: 0, state: "waiting", deferred_until: expect.stringMatching(FAR.slice(0, 16)) };
  await expect.poll(async () => look(order)).toEqual(deferred);
  expect(await receiver.handled(newEventId())).toEqual({ handled: 0 });
});
