import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const MAXIMUM_LINES = 200;
const MAXIMUM_LINE_LENGTH = 2_000;
const LAST_WORDS_MS = 2_000;

/** Keeps the last 200 lines that processes wrote, each of at most 2,000 characters, without noise. */
export function createOutputTail(
  onLine?: (line: string, stream: "stdout" | "stderr") => void,
  isNoise?: (line: string) => boolean,
) {
  const kept: string[] = [];

  function keep(line: string, stream: "stdout" | "stderr"): void {
    const cut = line.length > MAXIMUM_LINE_LENGTH ? `${line.slice(0, MAXIMUM_LINE_LENGTH)}…` : line;
    if (isNoise?.(cut) !== true) kept.push(cut);
    if (kept.length > MAXIMUM_LINES) kept.shift();
    onLine?.(cut, stream);
  }

  return {
    follow(child: ChildProcess): void {
      for (const stream of ["stdout", "stderr"] as const) {
        let partial = "";
        const source = child[stream];
        // A running `child` keeps us alive itself; processes that it leaves behind may hold its pipes forever.
        if (source instanceof Socket) source.unref();
        source?.setEncoding("utf8");
        source?.on("data", (chunk: string) => {
          const lines = (partial + chunk).split(/\r?\n/);
          partial = lines.pop() ?? "";
          for (const line of lines) keep(line, stream);
          if (partial.length <= MAXIMUM_LINE_LENGTH) return;
          keep(partial, stream);
          partial = "";
        });
        source?.on("end", () => {
          if (partial !== "") keep(partial, stream);
          partial = "";
        });
      }
    },
    /** Waits for the last output of an ended child, but not long for a grandchild that holds its pipes open. */
    async drained(child: ChildProcess): Promise<void> {
      if (child.stdout?.readableEnded !== false && child.stderr?.readableEnded !== false) return;
      await Promise.race([once(child, "close"), sleep(LAST_WORDS_MS)]);
    },
    lines: (): string[] => [...kept],
  };
}
