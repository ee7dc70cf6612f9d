import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { RUN_TYPESCRIPT } from "./typescript.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

/**
 * Runs a TypeScript entry point of the project in a separate process (node itself, so that a kill hits the program and
 * no wrapper). It is killed when the test is over.
 */
export function run(entry: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [...RUN_TYPESCRIPT, entry, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const out: string[] = [];
  const errors: string[] = [];
  const waiters = new Set<() => void>();
  for (const [stream, lines] of [
    [child.stdout, out],
    [child.stderr, errors],
  ] as const) {
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      for (const waiter of waiters) waiter();
    });
  }
  const exited = exitOf(child);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });

  /** The first of `lines` that `matches`; rejects with the whole output if the process ends first. */
  function firstOf(lines: readonly string[], matches: (line: string) => boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = lines.find(matches);
        if (found === undefined) return;
        waiters.delete(look);
        resolve(found);
      };
      waiters.add(look);
      look();
      void exited.then(({ code, signal }) =>
        reject(new Error(`ended (${code ?? signal}):\n${[...out, ...errors].join("\n")}`)),
      );
    });
  }

  return {
    child,
    out,
    errors,
    exited,
    /** The first line of stdout that `matches`. */
    line: (matches: (line: string) => boolean) => firstOf(out, matches),
    /** The first line of stderr that `matches`. */
    error: (matches: (line: string) => boolean) => firstOf(errors, matches),
    async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<Exit> {
      child.kill(signal);
      return exited;
    },
  };
}

/** Runs `serve` on a free port; returns its address. */
export async function serve(args: readonly string[]) {
  const process = run("simulator/main.ts", ["serve", "--port", "0", "--json", "--calls", "0", ...args]);
  const banner = JSON.parse(await process.line((line) => line.startsWith('{"object":"simulator"'))) as {
    url: string;
  };
  return { ...process, url: banner.url };
}

async function exitOf(child: ChildProcess): Promise<Exit> {
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal };
}
