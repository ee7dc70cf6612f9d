import { millisecondsOf } from "./format.js";
import { outcomeWord } from "./words.js";

/** Differ on every answer, and say nothing. */
const PASSING_HEADERS = new Set(["date", "age", "x-request-id", "content-length", "etag"]);
/** Beyond this, which lines are the same costs more to find than it tells. */
const MOST_LINES = 400;

/**
 * What is otherwise in an attempt than in the one before: outcome, time, answer, and what was sent. Each part with its
 * words for both, or, where it is the same, for one.
 */
export function differenceOf(before, after) {
  return [
    part("Outcome", outcomeWord(before), outcomeWord(after)),
    part("Took", tookWords(before), tookWords(after)),
    ...headerParts(before.answer, after.answer),
    part("Body we sent", "", before.request.body === after.request.body ? "" : "other bytes"),
    part("Signed with t", before.signature.t ?? "none", after.signature.t ?? "none"),
  ];
}

/** The lines of two texts, each `same`, `gone` or `new`, in an order that reads as one text. */
export function linesOf(before, after) {
  const old = before.split("\n").slice(0, MOST_LINES);
  const fresh = after.split("\n").slice(0, MOST_LINES);
  const longest = commonLengths(old, fresh);
  const lines = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push({ kind: "same", text: old[i++] });
      j++;
    } else if (i < old.length && (j === fresh.length || longest[i + 1][j] >= longest[i][j + 1]))
      lines.push({ kind: "gone", text: old[i++] });
    else lines.push({ kind: "new", text: fresh[j++] });
  }
  return lines;
}

function part(name, before, after) {
  return { name, before, after, isSame: before === after };
}

function tookWords({ duration_ms: durationMs }) {
  return durationMs === null ? "under way" : millisecondsOf(durationMs);
}

function headerParts(before, after) {
  const old = before?.headers ?? {};
  const fresh = after?.headers ?? {};
  const names = [...new Set([...Object.keys(old), ...Object.keys(fresh)])];
  return names
    .filter((name) => !PASSING_HEADERS.has(name.toLowerCase()))
    .map((name) => part(name, headerWords(old[name]), headerWords(fresh[name])))
    .filter(({ isSame }) => !isSame);
}

function headerWords(value) {
  return value === undefined ? "none" : [value].flat().join(", ");
}

/** How many lines the ends of both texts have in common, from each pair of places on. */
function commonLengths(old, fresh) {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = fresh.length - 1; j >= 0; j--)
      lengths[i][j] =
        old[i] === fresh[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  return lengths;
}
