import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { createReceiver, defineHandler, PermanentFailure, type Handler } from "../../../receiver/index.ts";
import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { newBody, SECRET, signatureFor } from "../helpers/events.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** Handlers that an app gives as an array: they run in its own process. */

async function start(handlers: readonly Handler[], databaseUrl: string) {
  const lines: { msg: string; handler?: string; outcome?: string }[] = [];
  const receiver = await createReceiver({
    signingSecrets: [SECRET],
    databaseUrl,
    handlers,
    logTo: (line) => void lines.push(JSON.parse(line) as (typeof lines)[0]),
  });
  onTestFinished(receiver.stop);
  const send = async (type: string): Promise<void> => {
    const body = newBody("call.completed", { type });
    const headers = { [SIGNATURE_HEADER]: signatureFor(body) };
    expect(
      (await receiver.fetch(new Request("http://app.test/", { method: "POST", body, headers }))).status,
    ).toBe(200);
  };
  return { receiver, lines, send };
}

const object = z.looseObject({});

test("handlers in an array handle events in this process, with retries, dead letters and metrics", async () => {
  const handled: { type: string; process: number }[] = [];
  const handlers = [
    defineHandler({
      name: "first",
      type: ["one", "two"],
      object,
      handle: async ({ type }) => void handled.push({ type, process: process.pid }),
    }),
    defineHandler({
      name: "second",
      type: "two",
      object,
      handle: () => Promise.reject(new PermanentFailure("never")),
    }),
  ];
  const { receiver, lines, send } = await start(
    handlers,
    `sqlite:${join(temporaryDirectory(), "receiver.db")}`,
  );
  await send("one");
  await send("two");
  await expect.poll(() => lines.filter(({ outcome }) => outcome !== undefined).length).toBe(3);
  expect(handled).toEqual([
    { type: "one", process: process.pid },
    { type: "two", process: process.pid },
  ]);
  expect(lines.filter(({ outcome }) => outcome === "dead").map(({ handler }) => handler)).toEqual(["second"]);
  await expect
    .poll(async () => (await receiver.metrics()).body)
    .toMatch(/receiver_handling_seconds_count\{[^}]*outcome="dead"[^}]*\} 1/);
});

const FAKED = ["setImmediate", "setTimeout", "setInterval", "performance"] as const;

test.each([
  ["all that stands still by default", {}],
  ["immediates, timers and clocks", { toFake: [...FAKED] }],
])("under the fake timers of a test (%s) events are acknowledged and handled as ever", async (_, config) => {
  const handled = Promise.withResolvers<string>();
  const handlers = [
    defineHandler({ name: "h", type: "one", object, handle: async ({ type }) => handled.resolve(type) }),
  ];
  const { receiver, send } = await start(handlers, `sqlite:${join(temporaryDirectory(), "receiver.db")}`);
  vi.useFakeTimers(config);
  onTestFinished(() => void vi.useRealTimers());
  await send("one");
  expect(await handled.promise).toBe("one");
  await receiver.stop();
});

test("a stop waits for the handler that runs, and what has not begun is there after the next start", async () => {
  const databaseUrl = `sqlite:${join(temporaryDirectory(), "receiver.db")}`;
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
  const first = await start([slow], databaseUrl);
  await first.send("slow");
  await begun.promise;
  const stopped = first.receiver.stop().then(() => ended.push("stopped"));
  go.resolve();
  await stopped;
  expect(ended).toEqual(["slow", "stopped"]);

  const late: string[] = [];
  const onlyTakes = await createReceiver({ signingSecrets: [SECRET], databaseUrl, logLevel: "silent" });
  const body = newBody("call.completed", { type: "late" });
  const headers = { [SIGNATURE_HEADER]: signatureFor(body) };
  await onlyTakes.fetch(new Request("http://app.test/", { method: "POST", body, headers }));
  await onlyTakes.stop();
  const handler = defineHandler({
    name: "late",
    type: "late",
    object,
    handle: async () => void late.push("late"),
  });
  await start([slow, handler], databaseUrl);
  await expect.poll(() => late).toEqual(["late"]);
});

test("two handlers of one name are refused at the start", async () => {
  const handler = defineHandler({ name: "same", type: "x", object, handle: async () => undefined });
  const creating = start([handler, handler], `sqlite:${join(temporaryDirectory(), "receiver.db")}`);
  await expect(creating).rejects.toThrow(/two handlers are called "same"/);
});
