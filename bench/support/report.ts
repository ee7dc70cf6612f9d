/** The median of several measurements. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export type Report = {
  line: (text: string) => void;
  /** A figure with a limit; if it misses the limit, it is marked at once, and again at the end. */
  held: (what: string, value: number, bound: { atLeast: number } | { atMost: number }) => void;
  conclude: () => void;
};

/** Prints measurements, and at the end those that miss their limits. */
export function createReport(): Report {
  const short: string[] = [];
  const line = (text: string): void => void process.stdout.write(`  ${text}\n`);
  return {
    line,
    held: (what, value, bound) => {
      const holds = "atLeast" in bound ? value >= bound.atLeast : value <= bound.atMost;
      const rule =
        "atLeast" in bound ? `at least ${String(bound.atLeast)}` : `at most ${String(bound.atMost)}`;
      const text = `${what.padEnd(66)} ${value.toFixed(2).padStart(8)}  ${rule}  ${holds ? "reached" : "FALLS SHORT"}`;
      if (!holds) short.push(what);
      line(text);
    },
    conclude: () => {
      line(short.length === 0 ? "Every figure is reached." : `Falls short: ${short.join("; ")}.`);
    },
  };
}

/** `12,345` */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}
