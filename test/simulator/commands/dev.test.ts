import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { EVENT_TYPES } from "../../../shared/events.ts";
import { startSimulator } from "../../../simulator/index.ts";
import { freePort } from "../../helpers/free-port.ts";
import { isAlive } from "../../helpers/is-alive.ts";
import { run as spawnRun } from "../../helpers/process.ts";
import { run } from "./in-process.ts";

const RECEIVER = [process.execPath, "test/simulator/commands/dev-receiver.ts"];

async function argumentsOf(behaviour: string, options: string[]): Promise<string[]> {
  const url = `http://127.0.0.1:${await freePort()}/webhooks`;
  return ["dev", "--port", "0", "--url", url, ...options, "--", ...RECEIVER, behaviour];
}

/** `dev` as a separate process, for what signals do to it. */
async function dev(behaviour: string, ...options: string[]) {
  return spawnRun("simulator/main.ts", await argumentsOf(behaviour, options));
}

/** Runs `dev --once` in this process to its end: only the receiver is another process. */
async function once(behaviour: string, ...options: string[]) {
  return run(...(await argumentsOf(behaviour, ["--calls", "0", "--once", ...options])));
}

test("starts the receiver with its environment, sends every type and a duplicate, and with --once exits 0", async () => {
  const { code, out, err } = await once("works");
  expect(code).toBe(0);
  for (const type of EVENT_TYPES) expect(out).toContain(type);
  expect(out).toContain("Duplicate, acknowledged");
  expect(out).toContain("All 5 event types acknowledged");
  expect((await once("works", "--quiet")).err).not.toContain("receiver |");
  expect(err).toMatch(/receiver \| secret whsec_ api http:\/\/127\.0\.0\.1:\d+ key va_test_restaurant/);
});

test("stays up, says what to do next, and ends both cleanly at Ctrl-C", async () => {
  const started = await dev("works");
  await started.line((line) => line.includes("Seed"));
  const url = /http:\S+(?=\/dashboard)/.exec(started.out.join("\n"))?.[0] ?? "";
  await run("trigger", "order.created", "--simulator", url);
  await started.line((line) => line.includes("-->  order.created"));
  expect(await started.kill("SIGINT")).toEqual({ code: 0, signal: null });
  expect(started.errors.join("\n")).toContain("Ctrl-C ends it.");
});

test.each([
  ["rejects", 1, ["Your receiver rejects what the service signs"]],
  ["elsewhere", 1, ["Your receiver has no such path"]],
  ["fails", 1, ["Not every sample was handled"]],
  ["dies", 3, ["The receiver ended before it listened", "receiver | cannot find module express"]],
  ["deaf", 3, ["nothing listened on 127.0.0.1"]],
  [
    "collapses",
    3,
    ["\nYour receiver ended while", "(exit code 7). Its last lines:\n", "\n  receiver | out of memory\n"],
  ],
  ["collapses --json", 3, ['"interrupted":true', "Your receiver ended (exit code 7)"]],
  ["fails --quiet", 1, ["receiver | secret whsec_"]],
])("a receiver that %s: exit code %d, and why", async (words, code, messages) => {
  const [behaviour = "", ...options] = words.split(" ");
  const patience = behaviour === "deaf" ? "1" : "15";
  const ended = await once(behaviour, "--ready-timeout", patience, ...options);
  expect(ended.code).toBe(code);
  for (const message of messages) expect(ended.out + ended.err).toContain(message);
});

test.each([
  [
    "while the receiver starts",
    "deaf",
    /receiver \| deaf (\d+)/,
    ["Interrupted before the receiver listened"],
  ],
  ["during the tour", "silent", /receiver \| asked (\d+)/, ["call.completed", "On its way", "Interrupted"]],
])("Ctrl-C %s ends both at once, with what is known", async (_, behaviour, started, said) => {
  const running = await dev(behaviour, "--once");
  const pid = Number(started.exec(await running.error((line) => started.test(line)))?.[1]);
  const startedMs = performance.now();
  expect(await running.kill("SIGINT")).toEqual({ code: 3, signal: null });
  // Less than the grace period of a process that is asked to stop.
  expect(performance.now() - startedMs).toBeLessThan(5_000);
  await expect.poll(() => isAlive(pid)).toBe(false);
  const lines = [...running.out, ...running.errors].join("\n");
  for (const words of said) expect(lines).toContain(words);
});

test("a second Ctrl-C ends both at once, though the receiver ignores the first", async () => {
  const running = await dev("stubborn", "--once");
  const line = await running.error((text) => text.includes("asked"));
  const pid = Number(/asked (\d+)/.exec(line)?.[1]);
  running.child.kill("SIGINT");
  await running.error((text) => text.includes("no end"));
  // A signal that follows at once is npm's, not a second Ctrl-C.
  const pressing = setInterval(() => running.child.kill("SIGINT"), 20);
  expect(await running.exited).toEqual({ code: 130, signal: null });
  clearInterval(pressing);
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test("with a data file, only the receiver at --url is judged", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dev-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const dataFile = join(folder, "simulator.db");
  const earlier = await startSimulator({ dataFile, calls: 0 });
  earlier.endpoints.add({ url: `http://127.0.0.1:${await freePort()}/nobody-is-here` });
  await earlier.close();
  const { code, out } = await once("works", "--data", dataFile, "--clock", "manual");
  expect(code).toBe(0);
  expect(out).not.toContain("refused");
});

test.each([
  [["--url", "here", "--", "true"], 2, "Give a full URL"],
  [["--url", "http://example.com/", "--", "true"], 2, "http:// is for localhost only"],
  [["--once"], 2, "dev needs the command that starts your receiver"],
  [["--once", "--url", "http://127.0.0.1:1/"], 1, "Nothing listens there: start your receiver"],
])("dev %j ends with one line", async (args, code, message) => {
  const result = await run("dev", "--port", "0", "--calls", "0", ...args);
  expect(result.code).toBe(code);
  expect(result.err + result.out).toContain(message);
});
