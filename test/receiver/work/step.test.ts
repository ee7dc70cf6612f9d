import { expect, test } from "vitest";
import type { HandlerContext } from "../../../receiver/work/handler.ts";
import { signalled } from "../helpers/until.ts";
import { bench, benchWith } from "./known-handler.ts";

/** Steps of an attempt, whose results its later attempts get. */

const text = (part: string): unknown => expect.stringContaining(part);

test("a step runs once: later attempts get its result, as JSON", async () => {
  let runs = 0;
  const results: unknown[] = [];
  const { run, advance } = await bench(async ({ step, attempt }) => {
    const made: { at: string; none?: undefined } = await step("make", () => {
      runs += 1;
      return { at: new Date(0), none: undefined };
    });
    results.push(made, await step("nothing", () => undefined));
    if (attempt === 1) throw new Error("after the steps");
  });
  await run();
  expect(await advance(5)).toEqual([{ outcome: "done", attempt: 2 }]);
  const made = { at: "1970-01-01T00:00:00.000Z" };
  expect([runs, results]).toEqual([1, [made, undefined, made, undefined]]);
});

test("a step that throws is not recorded", async () => {
  let runs = 0;
  const { run, advance } = await bench(async ({ step }) => {
    await step("make", () => {
      runs += 1;
      if (runs === 1) throw new Error("not yet");
    });
  });
  expect(await run()).toMatchObject({ outcome: "failed", error: "Error: not yet" });
  expect(await advance(5)).toMatchObject([{ outcome: "done" }]);
  expect(runs).toBe(2);
});

test.for<[string, (context: HandlerContext) => Promise<unknown>, string]>([
  [
    "a second time at once",
    async ({ step }) => Promise.all([step("sms", () => 1), step("sms", () => 2)]),
    'step("sms") is called twice',
  ],
  [
    "inside atomically",
    async ({ step, atomically }) => atomically(async () => step("sms", () => 1)),
    "inside atomically",
  ],
  ["without being awaited", async ({ step }) => void step("sms", () => 1), "await it"],
  ["with what JSON cannot hold", async ({ step }) => step("sms", () => 1n), "BigInt"],
])("a step that is called %s fails the attempt", async ([, behave, error]) => {
  const { run } = await bench(behave);
  expect(await run()).toMatchObject({ outcome: "failed", error: text(error) });
});

test("no attempt begins while a step of an earlier one still runs", async () => {
  const slow = signalled();
  const runs = signalled();
  const begun: string[] = [];
  const { run, advance } = await bench(async ({ step, attempt }) => {
    begun.push(`attempt ${String(attempt)}`);
    await Promise.all([
      step("slow", async () => {
        begun.push("slow");
        runs.give();
        await slow.promise;
      }),
      step("fails", () => {
        if (attempt === 1) throw new Error("at once");
      }),
    ]);
  });
  const first = run();
  await runs.promise;
  await advance(50);
  slow.give();
  expect(await first).toMatchObject({ outcome: "failed", error: "Error: at once" });
  expect(await advance(5)).toEqual([{ outcome: "done", attempt: 2 }]);
  expect(begun).toEqual(["attempt 1", "slow", "attempt 2"]);
});

test("no step begins after the deadline, and one that had begun is recorded", async () => {
  const begun = signalled();
  const asked = signalled<string>();
  const ran: string[] = [];
  const { run, advance } = await benchWith({ timeoutSeconds: 30 }, async ({ step }) => {
    ran.push(
      await step("slow", async () => {
        begun.give();
        return asked.promise;
      }),
    );
    await step("next", () => void ran.push("next"));
  });
  const first = run();
  await begun.promise;
  await advance(30);
  asked.give("a receipt");
  expect(await first).toMatchObject({ outcome: "failed", error: text("within 30 s") });
  expect(ran).toEqual(["a receipt"]);
  expect(await advance(5)).toMatchObject([{ outcome: "done" }]);
  expect(ran).toEqual(["a receipt", "a receipt", "next"]);
});
