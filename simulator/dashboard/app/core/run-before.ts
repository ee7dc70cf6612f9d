import { useMemo } from "preact/hooks";
import type { Report } from "./types.ts";
import { standingOf } from "../components/check-row.tsx";

const SEED = "seed";

/**
 * How each check ended in the runs before this one on the same receiver, by its id, as this browser remembers it; empty
 * while nothing is known. A run that is over is remembered for the next one.
 */
export function useRunBefore({
  url = "",
  seed = "",
  verdict = null,
  checks = [],
}: Report): Map<string, string> {
  return useMemo(() => {
    const [last, before] = [`verify last ${url}`, `verify before ${url}`];
    const known = read(last);
    if (verdict !== null && known.get(SEED) !== seed) {
      write(before, known);
      // Of a run of some checks, the others are as they were.
      write(
        last,
        new Map([...known, ...checks.map((check) => [check.id, standingOf(check)] as const), [SEED, seed]]),
      );
    }
    return verdict === null ? known : read(before);
  }, [url, seed, verdict]);
}

function read(name: string): Map<string, string> {
  const lines = (localStorage.getItem(name) ?? "").split("\n").map((line) => line.split(" "));
  return new Map(lines.flatMap(([id = "", standing]) => (standing === undefined ? [] : [[id, standing]])));
}

function write(name: string, standings: Map<string, string>): void {
  localStorage.setItem(name, [...standings].map((line) => line.join(" ")).join("\n"));
}
