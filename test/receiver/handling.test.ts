import { expect, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../receiver/clock.ts";
import type { Claim } from "../../receiver/engine.ts";
import {
  PermanentFailure,
  RetryAfter,
  defineHandler,
  type HandlerContext,
} from "../../receiver/work/handler.ts";
import { createHandling } from "../../receiver/work/handling.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { idOf, newBody } from "./helpers/events.ts";

async function handle(
  behave: (context: HandlerContext) => Promise<void>,
  options: { type?: string; timeoutMs?: number } = {},
) {
  let abandoned = 0;
  const handling = createHandling({
    handlers: [
      defineHandler({
        type: "known",
        object: z.looseObject({ id: z.string() }),
        handle: async (_, context) => behave(context),
      }),
    ],
    timeoutMs: options.timeoutMs ?? 10_000,
    clock: systemClock,
    log: createLog({ level: "silent" }),
    api: undefined,
    onAbandoned: () => (abandoned += 1),
  });
  const body = newBody("call.completed", { type: options.type ?? "known" });
  const claim: Claim = {
    id: idOf(body),
    type: options.type ?? "known",
    body,
    attempt: 3,
    receivedAtMs: 0,
    atomically: () => () => Promise.reject(new Error("not in this test")),
  };
  return { outcome: await handling(claim), abandoned, claim };
}

test("returning is done, and the context holds what was promised", async () => {
  let seen: HandlerContext | undefined;
  const { outcome, claim } = await handle(async (context) => {
    seen = context;
  });
  expect(outcome).toEqual({ kind: "done" });
  expect(seen).toMatchObject({ attempt: 3, idempotencyKey: claim.id, api: undefined });
});

test("throwing is a failure, whatever is thrown", async () => {
  expect((await handle(() => Promise.reject(new TypeError("boom")))).outcome).toEqual({
    kind: "failed",
    error: "TypeError: boom",
  });
  // eslint-disable-next-line typescript/only-throw-error
  expect((await handle(() => Promise.reject("a string"))).outcome).toEqual({
    kind: "failed",
    error: "a string",
  });
});

test("PermanentFailure is death, RetryAfter a date, of a day at the most", async () => {
  expect((await handle(() => Promise.reject(new PermanentFailure("no such order")))).outcome).toEqual({
    kind: "dead",
    error: "PermanentFailure: no such order",
  });
  expect((await handle(() => Promise.reject(new RetryAfter(90)))).outcome).toMatchObject({
    retryAfterSeconds: 90,
  });
  expect((await handle(() => Promise.reject(new RetryAfter(1e9)))).outcome).toMatchObject({
    retryAfterSeconds: 86_400,
  });
  expect(() => new RetryAfter(Number.NaN)).toThrow(RangeError);
});

test("a type without a handler is ignored", async () => {
  expect(
    (await handle(() => Promise.reject(new Error("never called")), { type: "unknown" })).outcome,
  ).toEqual({ kind: "ignored" });
});

test("an event without what its handler needs is dead, and the reason names the field", async () => {
  const handling = createHandling({
    handlers: [defineHandler({ type: "call.completed", handle: async () => undefined })],
    timeoutMs: 1_000,
    clock: systemClock,
    log: createLog({ level: "silent" }),
    api: undefined,
    onAbandoned: () => undefined,
  });
  const body = newBody("call.completed", { data: { object: { object: "call", phone: "secret" } } });
  const outcome = await handling({
    id: idOf(body),
    type: "call.completed",
    body,
    attempt: 1,
    receivedAtMs: 0,
    atomically: () => () => Promise.reject(new Error("not in this test")),
  });
  expect(outcome).toMatchObject({ kind: "dead", error: expect.stringContaining("data.object.duration_sec") });
});

test("the deadline aborts the signal, fails the attempt, and says when nobody listened", async () => {
  const obedient = await handle(
    async ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
    { timeoutMs: 5 },
  );
  expect(obedient.outcome).toMatchObject({
    kind: "failed",
    error: expect.stringContaining("HANDLER_TIMEOUT_SECONDS"),
  });
  const deaf = await handle(async () => new Promise(() => undefined), { timeoutMs: 5 });
  expect(deaf.outcome).toMatchObject({ kind: "failed" });
  expect(deaf.abandoned).toBe(1);
});
