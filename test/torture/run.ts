/**
 * One long run. Its size is 1 for as many minutes as it names on two cores; `--minutes` makes all of them smaller or
 * larger, but those that are `fixed`. One that stands `beside` mostly waits, and is played next to the others for as long
 * as they take; one that measures time is played `alone`, before that begins.
 */
export type Run = { name: string; minutes: number; pace?: "fixed" | "alone" | "beside" } & (
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
