import { describe, expect, test } from "vitest";
import { z } from "zod";
import { systemClock, type Clock } from "../../receiver/clock.ts";
import { LeaseLost, type Claim } from "../../receiver/engine.ts";
import {
  PermanentFailure,
  RetryAfter,
  defineHandler,
  type HandlerContext,
} from "../../receiver/work/handler.ts";
import { createHandling } from "../../receiver/work/handling.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { standingClock } from "./helpers/clock.ts";
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
    redact: (text) => text,
    onAbandoned: () => (abandoned += 1),
  });
  const body = newBody("call.completed", { type: options.type ?? "known" });
  const claim: Claim = {
    id: idOf(body),
    type: options.type ?? "known",
    body: body.toString(),
    attempt: 3,
    receivedAtMs: 0,
    signal: new AbortController().signal,
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
    retryAfterMs: 90_000,
  });
  expect((await handle(() => Promise.reject(new RetryAfter(1e9)))).outcome).toMatchObject({
    retryAfterMs: 86_400_000,
  });
  // Databases keep whole milliseconds.
  expect((await handle(() => Promise.reject(new RetryAfter(1.2345)))).outcome).toMatchObject({
    retryAfterMs: 1_235,
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
    redact: (text) => text,
    onAbandoned: () => undefined,
  });
  const body = newBody("call.completed", { data: { object: { object: "call", phone: "secret" } } });
  const outcome = await handling({
    id: idOf(body),
    type: "call.completed",
    body: body.toString(),
    attempt: 1,
    receivedAtMs: 0,
    signal: new AbortController().signal,
    atomically: () => () => Promise.reject(new Error("not in this test")),
  });
  expect(outcome).toMatchObject({ kind: "dead", error: expect.stringContaining("data.object.duration_sec") });
});

describe("the deadline", () => {
  const obeys = async ({ signal }: HandlerContext): Promise<void> =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });

  test("aborts the signal and fails the attempt", async () => {
    const clock = standingClock();
    const bench = createBench(obeys, { clock, timeoutMs: 5_000 });
    const outcome = bench.handling(bench.claim());
    await clock.pass(4_999);
    expect(bench.signals[0]?.aborted).toBe(false);
    await clock.pass(1);
    expect(bench.signals[0]?.aborted).toBe(true);
    expect(await outcome).toMatchObject({
      kind: "failed",
      error: expect.stringContaining("did not finish within 5 s (HANDLER_TIMEOUT_SECONDS)"),
    });
    await clock.pass(60_000);
    expect(bench.abandoned).toEqual([]);
  });

  test("counts handlers that go on regardless, for as long as they do", async () => {
    const clock = standingClock();
    const goOn: (() => void)[] = [];
    const bench = createBench(async () => new Promise<void>((resolve) => goOn.push(resolve)), {
      clock,
      timeoutMs: 5_000,
    });
    const first = bench.handling(bench.claim());
    const second = bench.handling(bench.claim());
    await clock.pass(5_000);
    expect(await first).toMatchObject({ kind: "failed" });
    expect(await second).toMatchObject({ kind: "failed" });
    expect(bench.abandoned).toEqual([]);
    await clock.pass(1_000);
    expect(bench.abandoned).toEqual([1, 2]);

    goOn[0]?.();
    const third = bench.handling(bench.claim());
    await clock.pass(5_000);
    expect(await third).toMatchObject({ kind: "failed" });
    await clock.pass(1_000);
    expect(bench.abandoned).toEqual([1, 2, 2]);
  });
});

test("a claim that is lost aborts the handler's signal with its reason", async () => {
  const clock = standingClock();
  const claimed = new AbortController();
  const bench = createBench(async () => new Promise(() => undefined), { clock, timeoutMs: 5_000 });
  const outcome = bench.handling(bench.claim({ signal: claimed.signal }));
  await clock.pass(1);
  claimed.abort(new LeaseLost("evt_1"));
  expect(await outcome).toMatchObject({ kind: "failed", error: expect.stringContaining("LeaseLost") });
  expect(bench.signals[0]?.reason).toBeInstanceOf(LeaseLost);
});

test("an atomically() that nobody awaits fails the attempt, and says why", async () => {
  const seen: boolean[] = [];
  const bench = createBench(
    async ({ atomically, signal }) => {
      atomically(async () => {
        await Promise.resolve();
        seen.push(signal.aborted);
      }).catch(() => undefined);
      await Promise.resolve();
    },
    { clock: standingClock(), timeoutMs: 5_000 },
  );
  const transaction = Promise.withResolvers<never>();
  const outcome = bench.handling(
    bench.claim({
      atomically: (signal) => async () => {
        signal.addEventListener("abort", () => transaction.reject(signal.reason as Error));
        return transaction.promise;
      },
    }),
  );
  expect(await outcome).toMatchObject({ kind: "failed", error: expect.stringContaining("await it") });
  expect(seen).toEqual([]);
});

test.for([
  [
    "throws",
    z.unknown().transform(() => {
      throw new Error("not even a schema");
    }),
  ],
  ["is asynchronous", z.unknown().refine(async () => true)],
] as const)("a schema that %s fails the attempt instead of leaving it to its lease", async ([, object]) => {
  const bench = createBench(async () => undefined, { clock: standingClock(), timeoutMs: 5_000, object });
  expect(await bench.handling(bench.claim())).toMatchObject({ kind: "failed" });
});

/** One handler for the type `known`, and all that can be seen of it from outside. */
function createBench(
  behave: (context: HandlerContext) => Promise<void>,
  options: { clock: Clock; timeoutMs: number; object?: z.ZodType },
) {
  const abandoned: number[] = [];
  const signals: AbortSignal[] = [];
  const handling = createHandling({
    handlers: [
      defineHandler({
        type: "known",
        object: options.object ?? z.unknown(),
        handle: async (_, context) => {
          signals.push(context.signal);
          await behave(context);
        },
      }),
    ],
    timeoutMs: options.timeoutMs,
    clock: options.clock,
    log: createLog({ level: "silent" }),
    api: undefined,
    redact: (text) => text,
    onAbandoned: (running) => void abandoned.push(running),
  });
  const claim = (overrides: Partial<Claim> = {}): Claim => {
    const body = newBody("call.completed", { type: "known" });
    return {
      id: idOf(body),
      type: "known",
      body: body.toString(),
      attempt: 1,
      receivedAtMs: 0,
      signal: new AbortController().signal,
      atomically: () => () => Promise.reject(new Error("not in this test")),
      ...overrides,
    };
  };
  return { handling, claim, abandoned, signals };
}
