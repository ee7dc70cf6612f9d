import type { Answer } from "../domain/outcome.ts";
import type { AnswerHead } from "./answer-head.ts";

/** How much of an answer's body is kept. */
const KEPT_BYTES = 16 * 1024;

/**
 * Keeps an answer, of its body up to 16 KiB. `take` says whether there was room for all of the bytes. They are copied into
 * one piece as they come: to join thousands of small ones at the end would delay other deadlines.
 */
export function createKeptAnswer(head: AnswerHead) {
  let room = Buffer.alloc(0);
  let keptBytes = 0;
  let truncated = false;

  function makeRoomFor(bytes: number): void {
    if (bytes <= room.byteLength) return;
    const larger = Buffer.allocUnsafe(Math.min(KEPT_BYTES, Math.max(bytes, 2 * room.byteLength)));
    room.copy(larger);
    room = larger;
  }

  return {
    take(bytes: Buffer): boolean {
      makeRoomFor(Math.min(KEPT_BYTES, keptBytes + bytes.byteLength));
      const copiedBytes = bytes.copy(room, keptBytes);
      keptBytes += copiedBytes;
      truncated ||= copiedBytes < bytes.byteLength;
      return !truncated;
    },
    /** What has arrived so far. */
    answer: (): Answer => ({ headers: joined(head), body: room.subarray(0, keptBytes), truncated }),
  };
}

/** Every header, with a list of values where it came several times. */
function joined(head: AnswerHead): Answer["headers"] {
  const headers = new Map<string, string | string[]>();
  for (const [name, value] of head.headers) {
    const known = headers.get(name);
    headers.set(name, known === undefined ? value : [known, value].flat());
  }
  return Object.fromEntries(headers);
}
