import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { describeLoadError } from "../../receiver/work/code-place.ts";
import { defineHandler } from "../../receiver/work/handler.ts";
import { checkNames } from "../../receiver/work/handlers-module.ts";
import { jobHandler } from "../../receiver/work/policies.ts";
import { newBody } from "./helpers/events.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

type Definition = Parameters<typeof defineHandler<"call.completed">>[0];

function define(overrides: Partial<Definition> = {}) {
  return defineHandler({
    name: "crm",
    type: "call.completed",
    handle: async () => undefined,
    ...overrides,
  });
}

function policiesOf(overrides: Partial<Definition> = {}) {
  return jobHandler(define(overrides), {
    defaults: { maximumAttempts: 10, handlerTimeoutMs: 60_000, workerConcurrency: 8 },
    random: () => 0,
    clean: (text) => text.replaceAll(/\+\d+/g, "a number"),
  });
}

describe("what a handler says nothing of", () => {
  test("is the environment's", () => {
    const policies = policiesOf();
    expect(policies).toMatchObject({
      name: "crm",
      types: ["call.completed"],
      migrations: [],
      maximumAttempts: 10,
      concurrency: 8,
      rateLimit: undefined,
      key: undefined,
    });
    expect([1, 2].map(policies.backoffMs)).toEqual([5_000, 15_000]);
  });
});

describe("what a handler says of itself", () => {
  test("counts instead", () => {
    const policies = policiesOf({
      maxAttempts: 3,
      concurrency: 2,
      backoff: (attempt) => attempt / 3,
      rateLimit: { limit: 5, perSeconds: 0.5 },
      migrations: ["CREATE TABLE a (b TEXT)"],
    });
    expect(policies).toMatchObject({
      maximumAttempts: 3,
      concurrency: 2,
      rateLimit: { limit: 5, perMs: 500 },
      migrations: ["CREATE TABLE a (b TEXT)"],
    });
    // Databases keep whole milliseconds.
    expect([1, 3].map(policies.backoffMs)).toEqual([334, 1_000]);
  });

  test("of its concurrency is no more than the worker's", () => {
    expect(policiesOf({ concurrency: 9 }).concurrency).toBe(8);
  });

  test("of its backoff may be no wait at all", () => {
    expect(policiesOf({ backoff: () => 0 }).backoffMs(1)).toBe(0);
  });

  test.for([() => Number.NaN, () => -1, () => Infinity, () => z.never().parse(1)])(
    "of its backoff counts only where it is a time: %s",
    (backoff) => {
      expect(policiesOf({ backoff }).backoffMs(1)).toBe(5_000);
    },
  );

  test("of its types is each of them once, or all there ever are", () => {
    const several = defineHandler({ name: "a", type: ["x", "y", "x"], handle: async () => undefined });
    expect(several.types).toEqual(["x", "y"]);
    // To be compiled: what takes every type can ask which one came.
    const all = defineHandler({ name: "a", type: "*", handle: ({ type }) => type === "call.completed" });
    expect(all.types).toBe("*");
  });
});

describe("the key of an event", () => {
  const body = (object: object): string =>
    newBody("call.completed", { data: { object: { object: "call", ...object } } }).toString();

  test("is what the handler makes of what it asked for", () => {
    const { key } = policiesOf({ key: ({ data }) => data.object.phone ?? "none" });
    expect(key?.(body({ phone: "+12125550101" }))).toBe("+12125550101");
    expect(key?.(body({}))).toBe("none");
  });

  test("may be made with what else stands in its definition", async () => {
    const definition = {
      name: "crm",
      type: "call.completed",
      region: "north",
      key() {
        return this.region;
      },
      handle: async () => undefined,
    } as const;
    const handler = defineHandler(definition);
    const event = handler.parse(JSON.parse(body({})));
    const { key } = jobHandler(handler, {
      defaults: { maximumAttempts: 10, handlerTimeoutMs: 60_000, workerConcurrency: 8 },
      random: () => 0,
      clean: (text) => text,
    });
    expect([event.ok, key?.(body({}))]).toEqual([true, "north"]);
  });

  test("that cannot be told says why, without what is personal", () => {
    const { key } = policiesOf({
      key: ({ data }) => {
        throw new RangeError(`no region for ${String(data.object.phone)}`);
      },
    });
    // An engine says it with its name before it.
    expect(() => key?.(body({ phone: "+12125550101" }))).toThrow(
      expect.objectContaining({ name: "RangeError", message: "no region for a number" }),
    );
  });

  test("is a text: anything else is refused, since no database could keep it", () => {
    const keyGiving = (given: unknown) => policiesOf({ key: () => given as string }).key;
    expect(keyGiving(7)?.(body({}))).toBe("7");
    expect(keyGiving(undefined)?.(body({}))).toBe("");
    for (const given of [Promise.resolve("one"), { id: 1 }, true, Buffer.from("one")])
      expect(() => keyGiving(given)?.(body({}))).toThrow(/^not a text but (?:object|boolean)$/);
  });

  test("that lacks what its handler needs says which field", () => {
    const { key } = policiesOf({ key: () => "one" });
    expect(() => key?.('{"id":"evt_1"}')).toThrow(/lacks what its handler needs: .*; data: /);
  });
});

describe("a definition that cannot be meant is refused, with its place:", () => {
  test.for<[string, object, RegExp]>([
    ["a name with a space", { name: "to kitchen" }, /name must be 1 to 64 letters, digits and \. _ -/],
    ["no name", { name: "" }, /name must be/],
    ["no type", { type: [] }, /type must be a type/],
    ["all types and one more", { type: ["*", "call.completed"] }, /type must be a type/],
    ["no attempt", { maxAttempts: 0 }, /maxAttempts must be a whole number from 1 on/],
    ["too many attempts", { maxAttempts: 101 }, /maxAttempts must be 100 at the most/],
    ["no time", { timeoutSeconds: 0 }, /timeoutSeconds must be a number of seconds above 0/],
    ["more than a day", { timeoutSeconds: 86_401 }, /timeoutSeconds must be a day \(86400\) at the most/],
    ["half a slot", { concurrency: 0.5 }, /concurrency must be a whole number from 1 on/],
    [
      "a rate of nothing",
      { rateLimit: { limit: 0, perSeconds: 1 } },
      /rateLimit\.limit must be a whole number/,
    ],
    ["a rate without a time", { rateLimit: { limit: 1, perSeconds: 0 } }, /rateLimit\.perSeconds must be/],
  ])("%s", ([, wrong, problem]) => {
    const message = messageOf(() => define(wrong));
    expect(message).toMatch(problem);
    expect(message).toMatch(/\(test\/receiver\/policies\.test\.ts:\d+:\d+\)/);
  });

  test("a name that another has", () => {
    const handlers = [define(), define({ name: "sms" }), define()];
    expect(messageOf(() => checkNames(handlers))).toMatch(
      /two handlers are called "crm": test\/receiver\/policies\.test\.ts:\d+:\d+ and test\//,
    );
    expect(() => checkNames(handlers.slice(1))).not.toThrow();
  });
});

const here = (path: string): string => join(process.cwd(), path);
const url = (path: string): string => pathToFileURL(here(path)).href;

/** An error as Node.js throws it. */
function thrown(message: string, ...stack: string[]): Error {
  return Object.assign(new TypeError(message), { stack: [`TypeError: ${message}`, ...stack].join("\n") });
}

test.each<[string, unknown, string]>([
  [
    "one's own place before that of others",
    thrown(
      "no menu",
      `    at make (${url("node_modules/x/i.js")}:1:2)`,
      `    at ${url("handlers/pos.ts")}:3:4`,
    ),
    "TypeError: no menu (handlers/pos.ts:3:4)",
  ],
  [
    "that of others where there is no other",
    thrown(
      "no menu",
      `    at make (${here("node_modules/x/i.js")}:1:2)`,
      `    at ${here("node_modules/y.js")}:3:4`,
    ),
    "TypeError: no menu (node_modules/x/i.js:1:2)",
  ],
  [
    "the first of one's own",
    thrown("no menu", `    at a (${url("a.ts")}:1:2)`, `    at b (${url("b.ts")}:3:4)`),
    "TypeError: no menu (a.ts:1:2)",
  ],
  [
    "that above an error of syntax, which has no column",
    Object.assign(new SyntaxError("unexpected"), {
      stack: `${url("a.ts")}?x=1:3\n  oh no\nSyntaxError: unexpected`,
    }),
    "SyntaxError: unexpected (a.ts:3)",
  ],
  [
    "nothing beside a place that the message names",
    thrown(`${url("a.ts")}:5:6: expected ;`, `    at b (${url("b.ts")}:3:4)`),
    "TypeError: a.ts:5:6: expected ;",
  ],
  [
    "a place beside a file that the message names",
    thrown(`Cannot find ${url("gone.ts")} imported from it`, `    at b (${url("b.ts")}:3:4)`),
    "TypeError: Cannot find gone.ts imported from it (b.ts:3:4)",
  ],
  ["no place where none is known", thrown("no menu"), "TypeError: no menu"],
  [
    "no place in Node.js itself",
    thrown("no menu", "    at process.processTicks (node:internal/process/task_queues:104:5)"),
    "TypeError: no menu",
  ],
  ["whatever was thrown", "a text", "a text"],
])("what is wrong with code that cannot be loaded is told with %s", (_what, error, words) => {
  expect(describeLoadError(error)).toBe(words);
});

test("a mistake in the text of an ES module is told with its file and line, beside others that were loaded", async () => {
  const folder = temporaryDirectory();
  const [whole, broken] = [join(folder, "whole.mjs"), join(folder, "broken.mjs")];
  writeFileSync(whole, 'import "./broken.mjs";\n');
  writeFileSync(broken, "// The next line lacks a value.\nconst name = ;\n");
  // Not vitest's import, which has a parser of its own.
  const script = `import(${JSON.stringify(pathToFileURL(whole))}).catch((e) => console.log(JSON.stringify([e.message, e.stack])))`;
  const { stdout } = spawnSync(process.execPath, ["-e", script], { encoding: "utf8" });
  const [message = "", stack] = z.array(z.string()).parse(JSON.parse(stdout));
  const error = Object.assign(new SyntaxError(message), { stack });
  expect(describeLoadError(error, [whole, broken])).toBe(`SyntaxError: Unexpected token ';' (${broken}:2)`);
});

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
  return "";
}
