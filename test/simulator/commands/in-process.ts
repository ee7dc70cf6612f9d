import { onTestFinished, vi } from "vitest";
import { runCommands } from "../../../simulator/commands/program.ts";
import { startSimulator, type StartOptions } from "../../../simulator/index.ts";

export type Ran = {
  code: number;
  out: string;
  err: string;
  /** The one JSON value on stdout, of the shape that the test expects. */
  // oxlint-disable-next-line typescript/no-explicit-any, typescript/no-unnecessary-type-parameters
  json: <Value = any>() => Value;
};

/** Runs a command as the shell would, in this process, which saves the second that a start takes. */
export async function run(...args: string[]): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation((text) => out.push(String(text)) > 0),
    vi.spyOn(process.stderr, "write").mockImplementation((text) => err.push(String(text)) > 0),
  ];
  const exitCode = process.exitCode;
  process.exitCode = undefined;
  try {
    await runCommands(["node", "voice-agent-simulator", ...args]);
    return {
      code: process.exitCode === undefined ? 0 : Number(process.exitCode),
      out: out.join(""),
      err: err.join(""),
      // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
      json<Value>() {
        const lines = out.join("").trimEnd().split("\n");
        if (lines.length !== 1) throw new Error(`expected one line of JSON, got:\n${lines.join("\n")}`);
        return JSON.parse(lines[0] ?? "") as Value;
      },
    };
  } finally {
    process.exitCode = exitCode;
    for (const spy of spies) spy.mockRestore();
  }
}

/** A running service, and `sim`, which runs a command against it. */
export async function startService(options: StartOptions = {}) {
  const simulator = await startSimulator({ seed: 7, calls: 0, ...options });
  onTestFinished(() => simulator.close());
  const sim = (...args: string[]) => run(...args, "--simulator", simulator.url);
  return { simulator, sim };
}
