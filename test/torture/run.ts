/** One long run. Its size is 1 for as many minutes as it names on two cores; `--minutes` makes all of them smaller or larger. */
export type Run = { name: string; minutes: number } & (
  | {
      /** Test files, or anything else that vitest takes behind `run`. */
      files: string[];
      environment?: (size: number) => Record<string, string>;
    }
  | { script: string; arguments?: (size: number, seed: number) => string[] }
);

/** `count` times the size, whole and at least one. */
export function times(count: number, size: number): string {
  return String(Math.max(1, Math.round(count * size)));
}
