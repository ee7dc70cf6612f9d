import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { EVENT_TYPES } from "../../shared/events.ts";
import { KINDS } from "../../simulator/create/kinds.ts";
import { freePort } from "../helpers/free-port.ts";
import { temporaryDirectory } from "../helpers/simulator.ts";
import { ROOT } from "../repository/files.ts";

/** The time-out: Next.js takes over a minute of processor time, and ten times as long on a busy machine. */
const WITHIN_MS = 900_000;
const PROBES: Record<string, string[]> = {
  python: ["python3", "--version"],
  go: ["go", "version"],
  php: ["php", "-r", 'exit(extension_loaded("pdo_sqlite") ? 0 : 1);'],
  ruby: ["ruby", "-rsinatra/base", "-rsqlite3", "-e", ""],
};

/** The environment of a shell without our variables, and without our programs in PATH. */
const STRANGER: Record<string, string> = {
  HOME: process.env["HOME"] ?? "",
  PATH: (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !folder.startsWith(ROOT))
    .join(delimiter),
};

const runs = (words: string[]): boolean =>
  spawnSync(words[0] ?? "", words.slice(1), { env: STRANGER }).status === 0;

/** Runs one command line to its end; returns its last lines if it failed. */
async function does(line: string, cwd: string): Promise<{ line: string; code: unknown; said: string }> {
  const child = start(line, cwd);
  const [code] = await child.exited;
  return { line, code, said: code === 0 ? "" : child.said().slice(-4_000) };
}

function start(line: string, cwd: string) {
  const child = spawn("sh", ["-c", line], {
    cwd,
    env: STRANGER,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  /** Kills everything that the line started: it has its own process group. */
  const signalled = (signal: NodeJS.Signals): void => {
    if (child.pid !== undefined && !hasEnded()) process.kill(-child.pid, signal);
  };
  /** Polls until `isSo` holds, for as long as the line runs. */
  const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
    while (!(await isSo())) {
      if (hasEnded()) throw new Error(`ended before that: ${line}\n${output}`);
      await delay(20);
    }
  };
  onTestFinished(() => signalled("SIGKILL"));
  return { exited: once(child, "exit"), said: () => output, signalled, until };
}

/** The status of an unsigned event, once a server listens; the connection is not kept, since a server would wait for it. */
async function answer(port: number): Promise<number | undefined> {
  const asked = { method: "POST", headers: { connection: "close" } };
  const answered = await fetch(`http://127.0.0.1:${port}/webhooks`, asked).catch(() => undefined);
  return answered?.status;
}

describe("a project made by create is installed, developed, verified and started by the steps that it prints", () => {
  test.for(Object.keys(KINDS))("--%s", { timeout: WITHIN_MS }, async (name, { skip }) => {
    const probe = PROBES[name];
    if (probe !== undefined && !runs(probe)) skip(`this machine has no ${probe.join(" ")}`);
    const folder = join(temporaryDirectory(), "calls");
    const made = await does(`npm run --silent simulator -- create ${folder} --${name}`, ROOT);
    expect(made).toMatchObject({ code: 0 });
    const port = await freePort();
    Object.assign(STRANGER, { PORT: String(port) });
    const isNode = readdirSync(folder).includes("package.json");
    const [dev, verify, alone] = isNode
      ? ["npm run dev", "npm run verify", "npm start"]
      : ["./dev", "./verify", "./start"];

    expect(await does(isNode ? "npm install" : "true", folder)).toMatchObject({ code: 0 });

    const developing = start(dev, folder);
    // The last line of the first run, with any result.
    await developing.until(() => developing.said().includes("Duplicate, "));
    for (const type of EVENT_TYPES)
      expect(developing.said()).toMatch(new RegExp(`${type} .*200 .*handled once`));
    developing.signalled("SIGINT");
    await developing.exited;

    expect(isNode ? await does("npm test", folder) : { code: 0 }).toMatchObject({ code: 0 });
    expect(await does(verify, folder)).toMatchObject({ code: 0 });

    const standing = start(alone, folder);
    await standing.until(async () => (await answer(port)) === 401);
    standing.signalled("SIGTERM");
    await standing.exited;
  });
});
