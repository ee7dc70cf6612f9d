import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { describeLoadError, loadHandlers } from "../../../receiver/work/module.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** How a module of handlers is loaded, and the messages if it cannot be. */

const DEFINE = `import { defineHandler } from ${JSON.stringify(pathToFileURL(`${process.cwd()}/receiver/work/handler.ts`).href)};`;
const CRM = `defineHandler({ name: "crm", type: "*", handle() {} })`;

function write(text: string, extension = "mjs"): string {
  const folder = temporaryDirectory();
  symlinkSync(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
  const file = join(folder, `handlers.${extension}`);
  writeFileSync(file, text);
  return file;
}

async function load(text: string, extension?: string) {
  return loadHandlers(pathToFileURL(write(text, extension)).href);
}

test("a module's handlers, services and onDead are loaded", async () => {
  const module = await load(`${DEFINE}
    export const handlers = [${CRM}];
    export const createServices = async () => ({ services: { till: 7 }, close: () => { globalThis.tillClosed = true; } });
    export const onDead = () => undefined;`);
  expect(module.handlers.map(({ name }) => name)).toEqual(["crm"]);
  expect(module.services).toEqual({ till: 7 });
  expect(module.onDead).toBeInstanceOf(Function);
  await module.close();
  expect(globalThis).toMatchObject({ tillClosed: true });
});

test("TypeScript that Node.js alone cannot run is loaded", async () => {
  const module = await load(
    `${DEFINE} enum Kind { One = "crm" } class Crm { constructor(readonly name: string) {} }
     export const handlers = [defineHandler({ name: new Crm(Kind.One).name, type: "*", handle() {} })];`,
    "ts",
  );
  expect(module.handlers.map(({ name }) => name)).toEqual(["crm"]);
});

test("receiver/handlers is the module if none is named", async () => {
  const { handlers } = await loadHandlers(undefined);
  expect(handlers.length).toBeGreaterThan(0);
});

test.for([
  ["no export", "export const one = 1;", "handlers"],
  ["something else in the list", "export const handlers = [{ name: 'crm' }];", "made by defineHandler()"],
  ["no function", "export const handlers = []; export const createServices = 1;", "must be a function"],
  ["two equal names", `${DEFINE} export const handlers = [${CRM}, ${CRM}];`, 'Two handlers are called "crm"'],
])("a module with %s is refused", async ([, text = "", problem = ""]) => {
  await expect(load(text)).rejects.toThrow(problem);
});

test.for<[string, string, RegExp]>([
  [
    "an error that it throws",
    "\nthrow new RangeError('no CRM_TOKEN');",
    /^RangeError: no CRM_TOKEN \(\S*handlers\.ts:2\b/,
  ],
  ["a mistake in its text", "\n\nexport const handlers = [;", /handlers\.ts:3:\d+/],
  [
    "a wrong policy",
    `${DEFINE}\nexport const handlers = [defineHandler({ name: "", type: "*", handle() {} })];`,
    /handlers\.ts:2\b/,
  ],
  ["a file that does not exist", 'import "./gone.ts";', /gone\.ts/],
])("%s is described in one line with its place", async ([, text, words]) => {
  const error: unknown = await load(text, "ts").catch((thrown: unknown) => thrown);
  expect(describeLoadError(error)).toMatch(words);
  expect(describeLoadError(error)).not.toContain("\n");
});

/** An error as Node.js throws it. */
function thrown(message: string, ...stack: string[]): Error {
  return Object.assign(new TypeError(message), { stack: [`TypeError: ${message}`, ...stack].join("\n") });
}

const here = (path: string): string => join(process.cwd(), path);
const url = (path: string): string => pathToFileURL(here(path)).href;

test.for<[string, unknown, string]>([
  [
    "your own place before that of a package",
    thrown("no menu", `    at make (${url("node_modules/x/i.js")}:1:2)`, `    at async ${url("pos.ts")}:3:4`),
    "TypeError: no menu (pos.ts:3:4)",
  ],
  [
    "a package's if there is no other",
    thrown("no menu", `    at ${here("node_modules/y.js")}:3:4`),
    "TypeError: no menu (node_modules/y.js:3:4)",
  ],
  ["a line without a column", thrown("unexpected", `${url("a.ts")}?x=1:3`), "TypeError: unexpected (a.ts:3)"],
  [
    "only the place that the message names",
    thrown(`${url("a.ts")}:5:6: expected ;`, `    at ${url("b.ts")}:3:4`),
    "TypeError: a.ts:5:6: expected ;",
  ],
  [
    "none in Node.js itself",
    thrown("no menu", "    at processTicks (node:internal/task_queues:104:5)"),
    "TypeError: no menu",
  ],
  ["none if no error was thrown", "a text", "a text"],
])("of the places of an error, the description has %s", ([, error, words]) => {
  expect(describeLoadError(error)).toBe(words);
});
