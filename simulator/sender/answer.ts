import type { Answer } from "../domain/outcome.ts";
import type { AnswerHead } from "./answer-head.ts";

const KEPT_BYTES = 16 * 1024;

/** Keeps an answer, with its body up to 16 KiB. `take` copies what fits, and returns whether that was all. */
export function createKeptAnswer(head: AnswerHead) {
  const pieces: Buffer[] = [];
  let room = KEPT_BYTES;
  let truncated = false;

  return {
    take(bytes: Buffer): boolean {
      truncated ||= bytes.byteLength > room;
      if (room > 0) pieces.push(Buffer.from(bytes.subarray(0, room)));
      room = Math.max(0, room - bytes.byteLength);
      return !truncated;
    },
    answer: (): Answer => ({ headers: joined(head), body: Buffer.concat(pieces), truncated }),
  };
}

/** Every header, with a list of values for a repeated one. */
function joined(head: AnswerHead): Answer["headers"] {
  const headers = new Map<string, string | string[]>();
  for (const [name, value] of head.headers) {
    const known = headers.get(name);
    headers.set(name, known === undefined ? value : [known, value].flat());
  }
  return Object.fromEntries(headers);
}
