import { vi } from "vitest";

type Ran = { code: number; out: string; err: string };

/** Runs a receiver's command in this process; only for commands that end, in tests of refusals. */
export const runReceiver = async (
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ran> => runProgram(async () => import("../../receiver/main.ts"), words, environment);

/** The same for any program that starts when it is loaded. */
export async function runProgram(
  load: () => Promise<unknown>,
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  /** Its exit code and output when it would have exited. */
  let ended: Ran | undefined;
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation((text) => out.push(String(text)) > 0),
    vi.spyOn(process.stderr, "write").mockImplementation((text) => err.push(String(text)) > 0),
    vi.spyOn(process, "exit").mockImplementation((given) => {
      ended ??= { code: Number(given ?? 0), out: out.join(""), err: err.join("") };
      throw new Error("The process would have ended here.");
    }),
  ];
  const streams = [process.stdout, process.stderr];
  const listening = streams.map((stream) => stream.listeners("error"));
  const before = { argv: process.argv, exitCode: process.exitCode, mask: process.umask() };
  process.argv = ["node", "program", ...words];
  process.exitCode = undefined;
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  try {
    vi.resetModules();
    await load();
    return ended ?? { code: exitCode(), out: out.join(""), err: err.join("") };
  } finally {
    vi.unstubAllEnvs();
    process.argv = before.argv;
    process.exitCode = before.exitCode;
    process.umask(before.mask);
    for (const spy of spies) spy.mockRestore();
    for (const [index, stream] of streams.entries()) {
      for (const listener of stream.rawListeners("error").slice(listening[index]?.length)) {
        stream.off("error", listener as () => void);
      }
    }
  }
}

function exitCode(): number {
  return Number(process.exitCode ?? 0);
}
