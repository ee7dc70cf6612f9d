import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { SECRET } from "./events.ts";
import { temporaryDirectory } from "./temporary.ts";
import { RUN_TYPESCRIPT } from "../../helpers/typescript.ts";

export type ReceiverProcess = {
  child: ChildProcess;
  /** The URL for webhooks; empty in the role `worker`. */
  url: string;
  adminUrl: string;
  /** Every line on standard output so far. */
  lines: string[];
  /** What it wrote to standard error so far. */
  errors: string[];
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Ends it and its worker at once. */
  kill: () => Promise<void>;
};

export const MAIN = fileURLToPath(new URL("../../../receiver/main.mjs", import.meta.url));

/** A receiver that exited before it listened. */
export class EndedEarly extends Error {
  readonly signal: NodeJS.Signals | null;

  constructor(signal: NodeJS.Signals | null, said: string) {
    super(`The receiver ended before it listened: ${said}`);
    this.signal = signal;
  }
}

/** Starts a receiver as a separate process and process group, without a `.env`, and waits until it listens or works. */
export async function startProcess(options: {
  environment: Record<string, string>;
  entry?: string;
  words?: readonly string[];
  cwd?: string;
}): Promise<ReceiverProcess> {
  const words = options.words ?? [];
  const child = spawn(process.execPath, [...RUN_TYPESCRIPT, options.entry ?? MAIN, ...words], {
    cwd: options.cwd ?? temporaryDirectory(),
    env: {
      ...cleanEnvironment(),
      SIGNING_SECRET: SECRET,
      PORT: "0",
      ADMIN_PORT: "0",
      ...options.environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const lines: string[] = [];
  const errors: string[] = [];
  child.stderr.on("data", (chunk: Buffer) => void errors.push(chunk.toString()));
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  const kill = async (): Promise<void> => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // The whole group is gone already.
    }
    await exited;
  };
  onTestFinished(kill);

  const listening = new Promise<{ url?: string; admin_url: string }>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line);
      if (/"msg":"(listening|working)"/.test(line)) resolve(JSON.parse(line));
    });
  });
  const first = await Promise.race([listening, exited]);
  if (!("admin_url" in first)) throw new EndedEarly(first.signal, errors.join(""));
  return { child, url: first.url ?? "", adminUrl: first.admin_url, lines, errors, exited, kill };
}

/** Runs a command of the receiver to its end, in a folder without a `.env`. */
export async function runCommand(
  words: readonly string[],
  environment: Record<string, string> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [...RUN_TYPESCRIPT, MAIN, ...words], {
    cwd: temporaryDirectory(),
    env: { ...cleanEnvironment(), ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, stdout, stderr };
}

/** The environment without anything that would configure a receiver. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  return {
    ...(PATH ? { PATH } : {}),
    ...(HOME ? { HOME } : {}),
    ...(TMPDIR ? { TMPDIR } : {}),
    ...(NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}),
    NO_COLOR: "1",
  };
}
