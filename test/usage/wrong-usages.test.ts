import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startSimulator, type RunningSimulator } from "../../simulator/index.ts";
import { run } from "../simulator/commands/in-process.ts";
import { runReceiver } from "./receiver-in-process.ts";
import { RECEIVER_USAGES } from "./receiver-usages.ts";
import { SIMULATOR_USAGES } from "./simulator-usages.ts";

const GOOD_SETTINGS = { SIGNING_SECRET: "whsec_x", PORT: "0", ADMIN_PORT: "0" };

let folder: string;
let simulator: RunningSimulator;
let somebody: Server;

beforeAll(async () => {
  vi.stubEnv("SIGNING_SECRET", undefined);
  folder = mkdtempSync(join(tmpdir(), "usage-"));
  mkdirSync(join(folder, "folder"));
  writeFileSync(join(folder, "empty"), "");
  writeFileSync(join(folder, "bad.json"), "{");
  writeFileSync(join(folder, "text"), "this is no database ".repeat(500));
  const newer = new Database(join(folder, "newer.db"));
  newer.pragma("user_version = 99");
  newer.close();
  for (const name of ["newer.db", "text"]) chmodSync(join(folder, name), 0o600);
  simulator = await startSimulator({ calls: 0, seed: 7 });
  somebody = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
  await new Promise((resolve) => somebody.once("listening", resolve));
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await simulator.close();
  somebody.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The names of places that are known only when the test runs. */
function filled(text: string): string {
  const { port } = somebody.address() as AddressInfo;
  return text
    .replaceAll("{dir}", folder)
    .replaceAll("{port}", String(port))
    .replaceAll("{sim}", simulator.url);
}

/** Without what SQLite keeps beside a database that is read. */
const filesThere = (): string[] => readdirSync(folder).filter((name) => !/-(?:shm|wal)$/.test(name));

const wordsOf = (text: string): string[] => (text === "" ? [] : filled(text).split(" "));

function expectLine(answer: string, line: string): void {
  const [first = ""] = answer.replace("voice-agent-receiver: ", "").split("\n");
  const wanted = filled(line.replace(/…$/, ""));
  expect(line.endsWith("…") ? first.slice(0, wanted.length) : first).toBe(wanted);
}

const listenersOfProcess = (): number[] =>
  ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2", "uncaughtException", "unhandledRejection"].map(
    (event) => process.listenerCount(event),
  );

describe("the simulator's answer to", () => {
  test.each(SIMULATOR_USAGES)("%s", async (words, code, line) => {
    const before = filesThere();
    const ran = await run(...wordsOf(words));
    expect(ran.code).toBe(code);
    expectLine(ran.err === "" ? ran.out : ran.err, line);
    expect(ran.out + ran.err).not.toMatch(/\n {4}at /);
    expect(filesThere()).toEqual(before);
  });
});

describe("the receiver's answer to", () => {
  test.each(RECEIVER_USAGES)("%s %s", async (settings, words, code, line) => {
    const given = wordsOf(settings).map((one) => one.split(/=(.*)/s).slice(0, 2));
    const listening = listenersOfProcess();
    const ran = await runReceiver(wordsOf(words), {
      ...GOOD_SETTINGS,
      DATABASE_URL: `sqlite:${folder}/receiver.db`,
      ...Object.fromEntries(given),
    });
    expect(ran.code).toBe(code);
    expectLine(ran.err === "" ? ran.out : ran.err, line);
    expect(ran.out + ran.err).not.toMatch(/\n {4}at /);
    expect(readdirSync(folder)).not.toContain("typo");
    // Whoever has failed to start leaves signals and errors to Node.js.
    expect(listenersOfProcess()).toEqual(listening);
  });
});
