import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineHandler } from "../../../receiver/work/handler.ts";
import { policyOf } from "../../../receiver/work/policy.ts";

/** What a handler's definition may contain, and what it means. */

type Definition = Parameters<typeof defineHandler<"call.completed">>[0];

const handle = async () => undefined;

function define(overrides: Partial<Definition> = {}) {
  return defineHandler({ name: "crm", type: "call.completed", handle, ...overrides });
}

function policy(overrides: Partial<Definition> = {}, random = 0) {
  const environment = { maximumAttempts: 10, handlerTimeoutMs: 60_000, workerConcurrency: 8 };
  return policyOf(define(overrides), environment, () => random);
}

test("a policy that a handler omits has the environment's value", () => {
  expect(policy()).toMatchObject({ maximumAttempts: 10, timeoutMs: 60_000, concurrency: 8 });
  expect(define()).toMatchObject({ types: ["call.completed"], key: [] });
});

test("a handler's own policies override it; its concurrency is at most the worker's", () => {
  const own = policy({ maxAttempts: 3, timeoutSeconds: 0.5, concurrency: 2 });
  expect(own).toMatchObject({ maximumAttempts: 3, timeoutMs: 500, concurrency: 2 });
  expect(policy({ concurrency: 9 }).concurrency).toBe(8);
});

test("the usual backoff is 5 s, 15 s, 45 s … up to 6 h, less up to a fifth by chance", () => {
  expect([1, 2, 3, 8, 100].map(policy().backoffMs)).toEqual([5_000, 15_000, 45_000, 10_935_000, 21_600_000]);
  expect([1, 100].map(policy({}, 1).backoffMs)).toEqual([4_000, 17_280_000]);
});

test("a handler's own backoff is in seconds, rounded up to whole milliseconds, at most 20 days", () => {
  expect([1, 3].map(policy({ backoff: (attempt) => attempt / 3 }).backoffMs)).toEqual([334, 1_000]);
  expect(policy({ backoff: () => 0 }).backoffMs(1)).toBe(0);
  for (const tooLong of [1e9, Infinity])
    expect(policy({ backoff: () => tooLong }).backoffMs(1)).toBe(1_728_000_000);
  for (const none of [() => Number.NaN, () => -1, () => z.never().parse(1)])
    expect(policy({ backoff: none }).backoffMs(1)).toBe(5_000);
});

test("types and keys are lists, each type once", () => {
  const several = defineHandler({ name: "a", type: ["x", "y", "x"], key: "data.object.phone", handle });
  expect(several).toMatchObject({ types: ["x", "y"], key: ["data.object.phone"] });
  const all = defineHandler({ name: "a", type: "*", key: ["org_id", "data.object.phone"], handle });
  expect(all).toMatchObject({ types: "*", key: ["org_id", "data.object.phone"] });
});

describe("a definition is refused with its name and what is wrong:", () => {
  test.for<[string, object, string]>([
    ["a name with a space", { name: "to kitchen" }, "name"],
    ["no name", { name: "" }, "name"],
    ["no type", { type: [] }, "type"],
    ["all types and one more", { type: ["*", "call.completed"] }, "type"],
    ["no attempt", { maxAttempts: 0 }, "maxAttempts"],
    ["too many attempts", { maxAttempts: 101 }, "maxAttempts"],
    ["no time", { timeoutSeconds: 0 }, "timeoutSeconds"],
    ["more than a day", { timeoutSeconds: 86_401 }, "timeoutSeconds"],
    ["half a slot", { concurrency: 0.5 }, "concurrency"],
    ["a rate of nothing", { rateLimit: { limit: 0, perSeconds: 1 } }, "rateLimit.limit"],
    ["a rate of another kind", { rateLimit: { limit: 1, perSeconds: 1, burst: 2 } }, "rateLimit"],
    ["a rate without a time", { rateLimit: { limit: 1, perSeconds: 0 } }, "rateLimit.perSeconds"],
    ["a key that is a function", { key: () => "one" }, "key"],
    ["a key that is no path", { key: "data..phone" }, "key"],
  ])("%s", ([, wrong, field]) => {
    expect(() => define(wrong)).toThrow(TypeError);
    expect(() => define(wrong)).toThrow(`at ${field}`);
  });
});

/** These lines are compiled, with an error where one is expected. */
export function compiled(): void {
  const name = "compiled";
  defineHandler({ name, type: "call.completed", key: "data.object.phone", handle });
  // @ts-expect-error A documented field is mistyped.
  defineHandler({ name, type: "call.completed", key: "data.object.phoen", handle });
  // @ts-expect-error In a list, too.
  defineHandler({ name, type: "call.completed", key: ["org_id", "data.object.phoen"], handle });
  // @ts-expect-error The path must start at the envelope.
  defineHandler({ name, type: "call.completed", key: "phone", handle });
  // Fields of either type.
  defineHandler({
    name,
    type: ["call.completed", "voicemail.created"],
    key: "data.object.message_text",
    handle,
  });
  // The service does not publish the fields of orders, nor those of future types.
  defineHandler({ name, type: "order.created", key: "data.object.customer.phone", handle });
  defineHandler({ name, type: "call.rated", key: "data.object.stars", handle });
  defineHandler({ name, type: "*", key: "data.object.phone", handle });
  // Fields of the handler's own schema, and documented ones beside them.
  const object = z.looseObject({ table: z.looseObject({ number: z.int() }) });
  defineHandler({
    name,
    type: "call.completed",
    object,
    key: ["data.object.table.number", "data.object.phone"],
    handle,
  });
  // @ts-expect-error A field of the schema is mistyped.
  defineHandler({ name, type: "call.completed", object, key: "data.object.table.nubmer", handle });
  // @ts-expect-error Every documented field may be missing.
  defineHandler({ name, type: "call.completed", handle: ({ data }) => data.object.phone.length });
  defineHandler({ name, type: "*", handle: ({ type }) => type === "call.completed" });
}
