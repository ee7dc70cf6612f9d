import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { Clock } from "../../receiver/clock.ts";
import { LeaseLost, type Claim, type FailedJob } from "../../receiver/engine.ts";
import {
  PermanentFailure,
  RetryAfter,
  defineHandler,
  type HandlerContext,
} from "../../receiver/work/handler.ts";
import { createHandling } from "../../receiver/work/handling.ts";
import { createScrubber } from "../../receiver/operations/scrubber.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { standingClock } from "./helpers/clock.ts";
import { idOf, newBody } from "./helpers/events.ts";

const HOUR_MS = 3_600_000;

test("returning is done, and the context holds what was promised", async () => {
  const seen: HandlerContext[] = [];
  const bench = createBench(async (context) => void seen.push(context), { services: { crm: "ours" } });
  const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
  const claim = bench.claim({ attempt: 3, trace });
  expect(await bench.handle(claim)).toEqual({ kind: "done" });
  const [context] = seen;
  expect(context).toMatchObject({
    attempt: 3,
    idempotencyKey: claim.id,
    api: undefined,
    services: { crm: "ours" },
    trace,
  });
  expect(context?.idempotencyKeyFor("sms")).toBe(`${claim.id}:known:sms`);
});

test("throwing is a failure, whatever is thrown", async () => {
  const thrown = async (value: unknown) => {
    // eslint-disable-next-line typescript/prefer-promise-reject-errors
    const bench = createBench(() => Promise.reject(value));
    return bench.handle(bench.claim());
  };
  expect(await thrown(new TypeError("boom"))).toEqual({ kind: "failed", error: "TypeError: boom" });
  expect(await thrown("a string")).toEqual({ kind: "failed", error: "a string" });
  const unwritable = { kind: "failed", error: "What was thrown cannot be made a text." };
  expect(await thrown(Object.create(null))).toEqual(unwritable);
  expect(await thrown(Object.assign(new Error("x"), { message: Symbol("code") }))).toEqual(unwritable);
  expect(await thrown(new PermanentFailure("no such order"))).toEqual({
    kind: "dead",
    error: "PermanentFailure: no such order",
  });
});

describe("RetryAfter", () => {
  async function later(when: number | Date, waitedMs = 0) {
    const clock = standingClock();
    await clock.pass(100 * HOUR_MS);
    const bench = createBench(() => Promise.reject(new RetryAfter(when)), { clock });
    return bench.handle(bench.claim({ waitingSinceMs: clock.nowMs() - waitedMs }));
  }

  test("is no failure but a later time: in seconds, or a date", async () => {
    expect(await later(90)).toEqual({
      kind: "later",
      reason: "RetryAfter: Asked to come back in 90 s.",
      delayMs: 90_000,
    });
    // Databases keep whole milliseconds.
    expect(await later(1.2345)).toMatchObject({ kind: "later", delayMs: 1_235 });
    expect(await later(new Date(101 * HOUR_MS))).toMatchObject({ kind: "later", delayMs: HOUR_MS });
  });

  test("never comes back at once: a service that says 0 would keep a core busy", async () => {
    expect(await later(0)).toMatchObject({ delayMs: 1_000 });
    expect(await later(new Date(0))).toMatchObject({ delayMs: 1_000 });
  });

  test("is bounded by the age of what waits: the last attempt comes at that age, and then it is dead", async () => {
    expect(await later(10 * 3_600, 71 * HOUR_MS)).toMatchObject({ kind: "later", delayMs: HOUR_MS });
    expect(await later(1, 72 * HOUR_MS - 1)).toMatchObject({ kind: "later" });
    expect(await later(1, 72 * HOUR_MS)).toEqual({
      kind: "dead",
      error:
        "RetryAfter: Asked to come back in 1 s. It has been put off for MAX_AGE_HOURS (72); requeue it to have it tried for as long again.",
    });
  });

  test.for([Number.NaN, -1, new Date(Number.NaN)])("refuses %s, which is no time", (when) => {
    expect(() => new RetryAfter(when)).toThrow(RangeError);
  });
});

test("what a handler throws is known also where a loader gave it a copy of its own of what it imports", async () => {
  vi.resetModules();
  const copy = await import("../../receiver/work/handler.ts");
  expect(copy.PermanentFailure).not.toBe(PermanentFailure);
  class OwnFailure extends copy.PermanentFailure {
    readonly order = 7;
  }
  const thrown = async (error: Error) => {
    const bench = createBench(async () => {
      throw error;
    });
    return bench.handle(bench.claim());
  };
  for (const failure of [new copy.PermanentFailure("no such order"), new OwnFailure("no such order")])
    expect(await thrown(failure)).toEqual({ kind: "dead", error: "PermanentFailure: no such order" });
  for (const [when, delayMs] of [
    [90, 90_000],
    [new Date(HOUR_MS), HOUR_MS],
  ] as const)
    expect(await thrown(new copy.RetryAfter(when, "not now"))).toEqual({
      kind: "later",
      reason: "RetryAfter: not now",
      delayMs,
    });
  const likeOne = Object.assign(new Error("x"), { name: "RetryAfter", when: 90 });
  expect(await thrown(likeOne)).toEqual({ kind: "failed", error: "RetryAfter: x" });
});

test("a job of a handler that there is not is dead, and says of which", async () => {
  const bench = createBench(async () => undefined);
  expect(await bench.handle(bench.claim({ handler: "gone" }))).toEqual({
    kind: "dead",
    error: 'No handler is called "gone".',
  });
});

test("an event of a type that its handler does not name is left to another version, whose handler does", async () => {
  const seen: string[] = [];
  const handle = async ({ type }: { type: string }) => void seen.push(type);
  const two = defineHandler({ name: "known", type: ["call.completed", "order.created"], handle });
  const every = defineHandler({ name: "known", type: "*", handle });
  const outcomeOf = async (handler: typeof two, type: "order.created" | "call.transferred") => {
    const bench = createBench(async () => undefined, { handler });
    return bench.handle(bench.claim({ type, body: String(newBody(type)) }));
  };
  expect(await outcomeOf(two, "order.created")).toEqual({ kind: "done" });
  expect(await outcomeOf(two, "call.transferred")).toEqual({
    kind: "failed",
    error: '"known" takes no call.transferred in this version of it.',
  });
  expect(await outcomeOf(every, "call.transferred")).toEqual({ kind: "done" });
  expect(seen).toEqual(["order.created", "call.transferred"]);
});

test("what an event lacks is told without what is personal in it", async () => {
  const object = z.looseObject({ phone: z.string() }).check(({ value, issues }) => {
    issues.push({ code: "custom", message: `nobody is called at ${value.phone}`, input: value });
  });
  const bench = createBench(async () => undefined, { object });
  const outcome = await bench.handle(bench.claim({ body: bodyWith({ phone: "+12125550142" }) }));
  expect(outcome).toMatchObject({ kind: "dead", error: expect.stringContaining("called at +10000000000") });
});

test("an event without what its handler needs is dead, and the reason names the field", async () => {
  const bench = createBench(async () => undefined, { object: z.object({ duration_sec: z.int() }) });
  expect(await bench.handle(bench.claim({ body: bodyWith({ phone: "secret" }) }))).toMatchObject({
    kind: "dead",
    error: expect.stringContaining("data.object.duration_sec"),
  });
});

test("a handler without a schema gets events with fields missing, null or of another kind", async () => {
  const seen: unknown[] = [];
  const handler = defineHandler({
    name: "lenient",
    type: "call.completed",
    handle: async ({ data: { object } }) => {
      // As documented, or not there.
      const seconds: number | null | undefined = object.duration_sec;
      seen.push([seconds, object.phone, object.outcome]);
    },
  });
  const bench = createBench(async () => undefined, { handler });
  const body = bodyWith({ duration_sec: "94", phone: null, surprise: true }, "call.completed");
  expect(await bench.handle(bench.claim({ handler: "lenient", type: "call.completed", body }))).toEqual({
    kind: "done",
  });
  expect(seen).toEqual([[undefined, null, undefined]]);
});

test("a handler without a schema gets texts of another form than today's as they are", async () => {
  const texts = { id: "c-1", agent_id: "7", phone: "anonymous", created_at: "2026-01-31T18:05:09.123+01:00" };
  const seen: unknown[] = [];
  const handler = defineHandler({
    name: "lenient",
    type: "call.completed",
    handle: ({ data: { object } }) =>
      void seen.push([object.id, object.agent_id, object.phone, object.created_at]),
  });
  const bench = createBench(async () => undefined, { handler });
  const body = bodyWith(texts, "call.completed");
  expect(await bench.handle(bench.claim({ handler: "lenient", type: "call.completed", body }))).toEqual({
    kind: "done",
  });
  expect(seen).toEqual([Object.values(texts)]);
});

test("what a handler does may use what else stands in its definition", async () => {
  const seen: unknown[] = [];
  const definition = {
    name: "known",
    type: "known",
    region: "north",
    handle() {
      seen.push(this.region);
    },
  } as const;
  const bench = createBench(async () => undefined, { handler: defineHandler(definition) });
  expect(await bench.handle(bench.claim())).toEqual({ kind: "done" });
  expect(seen).toEqual(["north"]);
});

describe("the deadline", () => {
  test("aborts the signal, and the attempt has failed once the handler has ended", async () => {
    const clock = standingClock();
    const ending = Promise.withResolvers<void>();
    const bench = createBench(async () => ending.promise, { clock, timeoutSeconds: 5 });
    let outcome: unknown;
    void bench.handle(bench.claim()).then((ended) => (outcome = ended));
    await clock.pass(4_999);
    expect(bench.signals[0]?.aborted).toBe(false);
    await clock.pass(1);
    expect(bench.signals[0]?.aborted).toBe(true);
    await clock.pass(4_000);
    // A retry that began now would meet it.
    expect(outcome).toBeUndefined();
    ending.resolve();
    await clock.pass(0);
    expect(outcome).toMatchObject({
      kind: "failed",
      error: expect.stringContaining("did not finish within 5 s (HANDLER_TIMEOUT_SECONDS"),
    });
    await clock.pass(60_000);
    expect(bench.stuck).toEqual([]);
  });

  test("fails a handler that says in its own words that it was aborted", async () => {
    const clock = standingClock();
    const bench = createBench(
      async ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("fetch failed")));
        }),
      { clock, timeoutSeconds: 5 },
    );
    const outcome = bench.handle(bench.claim());
    await clock.pass(5_000);
    expect(await outcome).toMatchObject({ error: expect.stringContaining("did not finish within 5 s") });
  });

  test("names the handler that goes on for five seconds beyond it, with its job", async () => {
    const clock = standingClock();
    const bench = createBench(async () => new Promise(() => undefined), { clock, timeoutSeconds: 5 });
    const claim = bench.claim();
    void bench.handle(claim);
    await clock.pass(9_999);
    expect(bench.stuck).toEqual([]);
    await clock.pass(1);
    expect(bench.stuck).toEqual([
      { handler: "known", id: claim.id, error: expect.stringContaining("did not finish within 5 s") },
    ]);
  });

  test("is the environment's where the handler says nothing", async () => {
    const clock = standingClock();
    const bench = createBench(async () => new Promise(() => undefined), { clock });
    void bench.handle(bench.claim());
    await clock.pass(59_999);
    expect(bench.signals[0]?.aborted).toBe(false);
    await clock.pass(1);
    expect(bench.signals[0]?.aborted).toBe(true);
  });
});

test("a claim that is lost aborts the handler's signal with its reason", async () => {
  const claimed = new AbortController();
  const bench = createBench(
    async ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  );
  const outcome = bench.handle(bench.claim({ signal: claimed.signal }));
  claimed.abort(new LeaseLost("evt_1"));
  expect(await outcome).toMatchObject({ kind: "failed", error: expect.stringContaining("LeaseLost") });
  expect(bench.signals[0]?.reason).toBeInstanceOf(LeaseLost);
});

test("a claim that was lost before its handler began has its signal aborted from the first", async () => {
  let seen: unknown;
  const bench = createBench(async ({ signal }) => void (seen = signal.reason));
  await bench.handle(bench.claim({ signal: AbortSignal.abort(new LeaseLost("evt_1")) }));
  expect(seen).toBeInstanceOf(LeaseLost);
});

test("a handler that throws has what else it began aborted, with its error; one that returns has not", async () => {
  const thrown = new Error("no table");
  const bench = createBench(async ({ attempt }) => {
    if (attempt === 1) throw thrown;
  });
  await bench.handle(bench.claim());
  await bench.handle(bench.claim({ attempt: 2 }));
  expect(bench.signals.map(({ aborted, reason }): unknown[] => [aborted, reason])).toEqual([
    [true, thrown],
    [false, undefined],
  ]);
});

test("an atomically() that nobody awaits fails the attempt, says why, and is no unhandled rejection", async () => {
  const bench = createBench(async ({ atomically }) => {
    void atomically(async () => Promise.resolve());
    await Promise.resolve();
  });
  const transaction = Promise.withResolvers<never>();
  const outcome = bench.handle(
    bench.claim({
      atomically: (signal) => async () => {
        signal.addEventListener("abort", () => transaction.reject(signal.reason as Error));
        return transaction.promise;
      },
    }),
  );
  expect(await outcome).toMatchObject({ kind: "failed", error: expect.stringContaining("await it") });
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
  const bench = createBench(async () => undefined, { object });
  expect(await bench.handle(bench.claim())).toMatchObject({ kind: "failed" });
});

describe("an error that nobody catches", () => {
  test("is blamed on the job whose code threw it, without what is personal", async () => {
    const throwing = Promise.withResolvers<void>();
    const ending = Promise.withResolvers<void>();
    let blamed: unknown;
    const bench = createBench(async () => {
      setImmediate(() => {
        blamed = bench.blame(new Error("no answer for +12125550142"));
        throwing.resolve();
      });
      await ending.promise;
    });
    const claim = bench.claim();
    const outcome = bench.handle(claim);
    await throwing.promise;
    expect(blamed).toEqual([{ handler: "known", id: claim.id, error: "Error: no answer for +10000000000" }]);
    ending.resolve();
    await outcome;
  });

  test("is no running job's where its own has ended, and nobody knows whose outside of all", async () => {
    const later = Promise.withResolvers<unknown>();
    const bench = createBench(async () => {
      setTimeout(() => later.resolve(bench.blame(new Error("late"))), 1);
    });
    await bench.handle(bench.claim());
    expect(await later.promise).toEqual([]);
    expect(bench.blame(new Error("somebody's"))).toBeUndefined();
  });
});

describe("a step", () => {
  test("runs once: a later attempt gets what it answered, as JSON has it", async () => {
    let runs = 0;
    const answers: unknown[] = [];
    const steps = rememberedSteps();
    const bench = createBench(async ({ step, attempt }) => {
      const made: { at: string; none?: undefined } = await step("make", () => {
        runs += 1;
        return { at: new Date(0), none: undefined };
      });
      answers.push(made, await step("nothing", () => undefined));
      if (attempt === 1) throw new Error("later than that");
    });
    const first = bench.claim({ steps });
    expect(await bench.handle(first)).toMatchObject({ kind: "failed" });
    expect(await bench.handle({ ...first, attempt: 2 })).toEqual({ kind: "done" });
    expect(runs).toBe(1);
    const made = { at: "1970-01-01T00:00:00.000Z" };
    expect(answers).toEqual([made, undefined, made, undefined]);
  });

  test("that throws is not recorded", async () => {
    const steps = rememberedSteps();
    let runs = 0;
    const bench = createBench(async ({ step }) => {
      await step("make", () => {
        runs += 1;
        if (runs === 1) throw new Error("not yet");
      });
    });
    expect(await bench.handle(bench.claim({ steps }))).toMatchObject({ error: "Error: not yet" });
    expect(await bench.handle(bench.claim({ steps }))).toEqual({ kind: "done" });
    expect(runs).toBe(2);
  });

  test.for<[string, (context: HandlerContext) => Promise<unknown>, string]>([
    [
      "twice under one name",
      async ({ step }) => {
        await step("sms", () => 1);
        await step("sms", () => 2);
      },
      'step("sms") was called twice',
    ],
    [
      "inside atomically()",
      async ({ step, atomically }) => atomically(async () => void (await step("sms", () => 1))),
      "inside atomically()",
    ],
    ["with what JSON cannot say", async ({ step }) => step("count", () => 1n), "what JSON cannot say"],
  ])("%s is refused with a reason", async ([, behave, reason]) => {
    const bench = createBench(async (context) => void (await behave(context)));
    const claim = bench.claim({ atomically: () => async (work) => work({ query: async () => [] }) });
    expect(await bench.handle(claim)).toMatchObject({
      kind: "failed",
      error: expect.stringContaining(reason),
    });
  });

  test("does not begin once the attempt's time is up, but is recorded where it had begun", async () => {
    const clock = standingClock();
    const steps = rememberedSteps();
    const asked = Promise.withResolvers<string>();
    const begun: string[] = [];
    const bench = createBench(
      async ({ step }) => {
        await step("slow", async () => {
          begun.push("slow");
          return asked.promise;
        });
        await step("next", () => void begun.push("next"));
      },
      { clock, timeoutSeconds: 5 },
    );
    const outcome = bench.handle(bench.claim({ steps }));
    await clock.pass(5_000);
    asked.resolve("a receipt");
    expect(await outcome).toMatchObject({
      kind: "failed",
      error: expect.stringContaining("did not finish within 5 s"),
    });
    expect(begun).toEqual(["slow"]);
    expect(await steps.find("slow")).toBe('{"result":"a receipt"}');
  });
});

function rememberedSteps(): Claim["steps"] {
  const recorded = new Map<string, string>();
  return {
    find: async (name) => recorded.get(name),
    record: async (name, json) => void recorded.set(name, json),
  };
}

function bodyWith(object: Record<string, unknown>, type = "known"): string {
  return newBody("call.completed", { type, data: { object: { object: "call", ...object } } }).toString();
}

/** One handler called `known`, and all that can be seen of it from outside. */
function createBench(
  behave: (context: HandlerContext) => Promise<void>,
  options: {
    clock?: Clock;
    timeoutSeconds?: number;
    object?: z.ZodType;
    services?: unknown;
    handler?: ReturnType<typeof defineHandler>;
  } = {},
) {
  const stuck: FailedJob[] = [];
  const signals: AbortSignal[] = [];
  const handler =
    options.handler ??
    defineHandler({
      name: "known",
      type: "known",
      object: options.object ?? z.unknown(),
      timeoutSeconds: options.timeoutSeconds,
      handle: async (_, context) => {
        signals.push(context.signal);
        await behave(context);
      },
    });
  const { handle, blame } = createHandling({
    handlers: [handler],
    services: options.services,
    defaults: {
      maximumAttempts: 10,
      handlerTimeoutMs: 60_000,
      workerConcurrency: 8,
      maximumAgeMs: 72 * HOUR_MS,
    },
    clock: options.clock ?? standingClock(),
    log: createLog({ level: "silent" }),
    api: undefined,
    clean: (text, body) => createScrubber(body).text(text),
    onStuck: (job) => void stuck.push(job),
  });
  const claim = (overrides: Partial<Claim> = {}): Claim => {
    const body = newBody("call.completed", { type: "known" });
    return {
      handler: "known",
      id: idOf(body),
      type: "known",
      body: body.toString(),
      trace: null,
      attempt: 1,
      waitingSinceMs: 0,
      receivedAtMs: 0,
      signal: new AbortController().signal,
      atomically: () => () => Promise.reject(new Error("not in this test")),
      steps: rememberedSteps(),
      ...overrides,
    };
  };
  return { handle, blame, claim, stuck, signals };
}
