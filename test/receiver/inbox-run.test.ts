import Database from "better-sqlite3";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { runJob, type RunOptions } from "../../receiver/operations/commands/inbox-run.ts";
import { orComplain } from "../../receiver/operations/commands/with-engine.ts";
import type { Outcome } from "../../receiver/engine.ts";
import { openEngine } from "../../receiver/engines/open.ts";
import { workFileOf } from "../../receiver/engines/sqlite/work-file.ts";
import { startHandlers } from "../../receiver/work/handlers-module.ts";
import { handler } from "./engine-suite/harness.ts";
import { idOf, newBody } from "./helpers/events.ts";
import { runCommand } from "./helpers/process.ts";
import { startTestReceiver } from "./helpers/receiver.ts";
import { recordingTerminal } from "./helpers/terminal.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { until } from "./helpers/until.ts";

/** An inbox with a job of the shipped handler that is dead. */
async function deadJob() {
  const file = join(temporaryDirectory(), "receiver.db");
  const engine = await openEngine({ databaseFile: file, clock: systemClock });
  onTestFinished(engine.close);
  const body = newBody();
  const id = idOf(body);
  await engine.intake.accept([
    { id, type: "call.completed", objectId: null, source: "webhook", body, trace: null },
  ]);
  const processor = await engine.work.process({
    handlers: [handler({ name: "log-call", types: ["call.completed"] })],
    handle: async () => ({ kind: "dead", error: "the till was closed" }),
    workerId: "test",
    concurrency: 1,
    onHandled: () => undefined,
    onTrouble: () => undefined,
  });
  const job = async () => (await engine.ledger.find(id))?.jobs[0];
  await until(job, (found) => found?.state === "dead");
  await processor.drain(0);
  const run = async (...words: string[]) =>
    runCommand(["inbox", "run", ...words], { DATABASE_URL: `sqlite:${file}`, SIGNING_SECRET: "s" });
  const calls = (): unknown => {
    const db = new Database(workFileOf(file));
    onTestFinished(() => void db.close());
    return db.prepare("SELECT event_id FROM call_log").all();
  };
  return { id, job, run, calls };
}

test("a dead job is run here and now, and is done with what its handler wrote", async () => {
  const { id, job, run, calls } = await deadJob();
  expect(await run(id, "--handler", "log-call")).toMatchObject({
    code: 0,
    stdout: "done  log-call, attempt 1\n",
  });
  expect(await job()).toMatchObject({ state: "done", handled: 1 });
  expect(calls()).toEqual([{ event_id: id }]);
});

test.runIf(ALL)("for show it runs on a database of its own, and the job is as dead as it was", async () => {
  const { id, job, run } = await deadJob();
  const shown = await run(id, "--dry-run", "--json");
  expect(shown.code).toBe(0);
  expect(JSON.parse(shown.stdout)).toEqual({ handler: "log-call", outcome: "done", attempt: 1 });
  expect(shown.stderr).toContain("call logged");
  expect(await job()).toMatchObject({ state: "dead", lastError: "the till was closed", attempts: 1 });
});

/** Runs the stored event's handlers, as they stand in a module of their own, in this process. */
async function storedEvent() {
  const receiver = await startTestReceiver();
  const body = newBody();
  const id = idOf(body);
  await receiver.engine.intake.accept([
    { id, type: "call.completed", objectId: null, source: "webhook", body, trace: null },
  ]);
  const directory = temporaryDirectory();
  const url = new URL("../../receiver/work/handler.ts", import.meta.url).href;
  let modules = 0;
  const run = async (module: string, options: RunOptions = {}, event = id) => {
    const file = join(directory, `handlers-${String((modules += 1))}.mjs`);
    writeFileSync(file, `import { defineHandler } from ${JSON.stringify(url)};\n${module}`);
    const terminal = recordingTerminal();
    const code = await orComplain(terminal, async () =>
      runJob({ ...receiver, terminal, handlersModule: pathToFileURL(file) }, event, options),
    );
    const job = (await receiver.engine.ledger.find(event))?.jobs[0];
    return { code, printed: terminal.printed.join("\n"), said: terminal.said.join("\n"), job };
  };
  return Object.assign(run, { engine: receiver.engine, id });
}

/** The text of a module of handlers with these names, which do what `body` says. */
const handlersOf = (names: string[], body = "", more = ""): string =>
  `export const handlers = ${JSON.stringify(names)}.map((name) =>
    defineHandler({ name, type: "*", handle: async (_, context) => { ${body} }, ${more} }));`;

test("a handler that no receiver has run yet gets an event that another is done with", async () => {
  const run = await storedEvent();
  expect(await run(handlersOf(["one"]))).toMatchObject({ code: 0, printed: "done  one, attempt 1" });
  expect(await run(handlersOf(["one", "two"]), { handler: "two" })).toMatchObject({
    code: 0,
    printed: "done  two, attempt 1",
  });
  expect(await run(handlersOf(["one"]))).toMatchObject({
    code: 1,
    printed: "",
    said: expect.stringContaining("one is done with this event"),
  });
});

test.for([
  [`throw new Error("no CRM_TOKEN"); export const handlers = [];`, "Error: no CRM_TOKEN ("],
  [
    `export const handlers = []; export async function createServices() { throw new TypeError("no pool"); }`,
    "TypeError: no pool (",
  ],
] as const)("handlers that cannot be started are told of with their place: %s", async ([module, problem]) => {
  const run = await storedEvent();
  const { code, said } = await run(module);
  expect({ code, said }).toEqual({ code: 3, said: expect.stringContaining(problem) });
  expect(said).toMatch(/handlers-1\.mjs:2:\d+\)/);
});

test("services are made before the handler runs, and the command waits until they are closed", async () => {
  const run = await storedEvent();
  const order: string[] = [];
  vi.stubGlobal("order", order);
  onTestFinished(() => void vi.unstubAllGlobals());
  const services = `
    export const createServices = async () => {
      await new Promise(setImmediate);
      order.push("made");
      const close = async () => {
        for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
        order.push("closed");
      };
      return { services: "ours", close };
    };`;
  const module = handlersOf(["one"], `order.push("handled with " + context.services);`) + services;
  expect(await run(module)).toMatchObject({ code: 0 });
  expect(order).toEqual(["made", "handled with ours", "closed"]);
  const file = join(temporaryDirectory(), "handlers.mjs");
  writeFileSync(file, `export const handlers = [];\n${services}`);
  const { close } = await startHandlers(pathToFileURL(file));
  await close();
  expect(order.slice(3)).toEqual(["made", "closed"]);
});

test("services that cannot be closed change nothing of what came of the job", async () => {
  const run = await storedEvent();
  const services = `
    export const createServices = async () => ({ services: 7, close: () => { throw new Error("twice"); } });`;
  const module = handlersOf(["a"], "if (context.services !== 7) throw new Error();") + services;
  expect(await run(module)).toMatchObject({
    code: 0,
    printed: "done  a, attempt 1",
    said: expect.stringContaining("the services could not be closed: Error: twice"),
  });
});

test("a key that cannot be told ends the job, and the command too", async () => {
  const run = await storedEvent();
  const module = handlersOf(["a"], "", `key: () => { throw new RangeError("no region"); }`);
  expect(await run(module)).toMatchObject({
    code: 1,
    printed: "dead  a, attempt 0: The handler's key failed: RangeError: no region",
  });
});

test("a handler that does not end is told of as failed, and that attempt counts", async () => {
  const run = await storedEvent();
  const module = handlersOf(
    ["a"],
    "await new Promise(() => setInterval(() => undefined, 1_000));",
    "timeoutSeconds: 1",
  );
  const { code, printed, job } = await run(module);
  expect({ code, printed }).toEqual({ code: 1, printed: expect.stringMatching(/^failed {2}a, attempt 1: /) });
  expect(job).toMatchObject({
    state: "pending",
    attempts: 1,
    lastError: printed.slice("failed  a, attempt 1: ".length),
  });
});

test("for show it runs by the settings of the receiver", async () => {
  vi.stubEnv("MAX_ATTEMPTS", "1");
  onTestFinished(() => void vi.unstubAllEnvs());
  const run = await storedEvent();
  expect(await run(handlersOf(["a"], `throw new Error("down");`), { dryRun: true })).toMatchObject({
    code: 1,
    printed: "dead  a, attempt 1: Error: down",
  });
});

test.for(["abc", "127.0.0.1:", "1:2:3"])("a debugger cannot look at %s", async (inspect) => {
  const run = await storedEvent();
  expect(await run(handlersOf([]), { inspect })).toMatchObject({
    code: 2,
    said: expect.stringContaining("--inspect takes a port or HOST:PORT"),
  });
});

test("what cannot be run is told of with what can", async () => {
  const run = await storedEvent();
  expect(await run(handlersOf(["log-call"]), { handler: "crm" })).toMatchObject({
    code: 2,
    said: expect.stringContaining("name one of its handlers with --handler: log-call."),
  });
  expect(await run(handlersOf(["log-call"]), {}, `evt_${"0".repeat(32)}`)).toMatchObject({
    code: 2,
    said: expect.stringContaining("is not in this inbox"),
  });
});

test.each<[Outcome, number, string]>([
  [{ kind: "done" }, 0, "done  a, attempt 1"],
  [{ kind: "dead", error: "never" }, 1, "dead  a, attempt 1: never"],
])("what a receiver that was faster makes of the job is told: %j", async (outcome, code, printed) => {
  const run = await storedEvent();
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const processor = await run.engine.work.process({
    handlers: [handler({ name: "a" })],
    handle: async () => {
      begun.resolve();
      await end.promise;
      return outcome;
    },
    workerId: "faster",
    concurrency: 1,
    onHandled: () => undefined,
    onTrouble: () => undefined,
  });
  onTestFinished(async () => processor.drain(0));
  await begun.promise;
  const { ledger } = run.engine;
  const { find } = ledger;
  let looks = 0;
  vi.spyOn(ledger, "find").mockImplementation(async (id) => {
    // It ends once the command has begun to wait for it.
    if ((looks += 1) === 2) end.resolve();
    return find(id);
  });
  expect(await run(handlersOf(["a"], `throw new Error("ran here");`))).toMatchObject({ code, printed });
});
