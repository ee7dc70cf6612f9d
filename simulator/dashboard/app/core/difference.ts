import { millisecondsOf } from "./format.ts";
import type { AttemptDetail } from "./types.ts";
import { outcomeWord } from "./words.ts";

/** Differ on every answer, and say nothing. */
const PASSING_HEADERS = new Set(["date", "age", "x-request-id", "content-length", "etag"]);
/** Longer texts are not compared line by line: it would take longer than it helps. */
const MOST_LINES = 400;

type Part = { name: string; before: string; after: string; isSame: boolean };
export type Line = { kind: "same" | "gone" | "new"; text: string };

/**
 * What is otherwise in an attempt than in the one before: outcome, time, answer, and what was sent. Each part with its
 * words for both, or, where it is the same, for one.
 */
export function differenceOf(before: AttemptDetail, after: AttemptDetail): Part[] {
  return [
    part("Outcome", outcomeWord(before), outcomeWord(after)),
    part("Took", tookWords(before), tookWords(after)),
    ...headerParts(before.answer, after.answer),
    part("Body we sent", "", before.request.body === after.request.body ? "" : "other bytes"),
    part("Signed with t", before.signature.t ?? "none", after.signature.t ?? "none"),
  ];
}

/** The lines of two texts, each `same`, `gone` or `new`, in an order that reads as one text. */
export function linesOf(before: string, after: string): Line[] {
  const old = before.split("\n").slice(0, MOST_LINES);
  const fresh = after.split("\n").slice(0, MOST_LINES);
  const longest = commonLengths(old, fresh);
  const lines: Line[] = [];
  const common = (i: number, j: number) => longest[i]?.[j] ?? 0;
  let [i, j] = [0, 0];
  for (;;) {
    const [was, is] = [old[i], fresh[j]];
    if (was === undefined && is === undefined) return lines;
    if (was !== undefined && was === is) {
      lines.push({ kind: "same", text: was });
      [i, j] = [i + 1, j + 1];
    } else if (is === undefined || (was !== undefined && common(i + 1, j) >= common(i, j + 1))) {
      lines.push({ kind: "gone", text: was ?? "" });
      i += 1;
    } else {
      lines.push({ kind: "new", text: is });
      j += 1;
    }
  }
}

function part(name: string, before: string, after: string): Part {
  return { name, before, after, isSame: before === after };
}

function tookWords({ duration_ms: durationMs }: AttemptDetail): string {
  return durationMs === null ? "under way" : millisecondsOf(durationMs);
}

function headerParts(before: AttemptDetail["answer"], after: AttemptDetail["answer"]): Part[] {
  const old = before?.headers ?? {};
  const fresh = after?.headers ?? {};
  const names = [...new Set([...Object.keys(old), ...Object.keys(fresh)])];
  return names
    .filter((name) => !PASSING_HEADERS.has(name.toLowerCase()))
    .map((name) => part(name, headerWords(old[name]), headerWords(fresh[name])))
    .filter(({ isSame }) => !isSame);
}

function headerWords(value: string | string[] | undefined): string {
  return value === undefined ? "none" : [value].flat().join(", ");
}

/** How many lines the ends of both texts have in common, from each pair of places on. */
function commonLengths(old: string[], fresh: string[]): Uint16Array[] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    const [own, below] = [lengths[i] ?? [], lengths[i + 1] ?? []];
    for (let j = fresh.length - 1; j >= 0; j--)
      own[j] = old[i] === fresh[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, own[j + 1] ?? 0);
  }
  return lengths;
}
