import type { Readable } from "node:stream";
import type { Answer } from "../domain/attempts.ts";

/** How much of an answer's body is kept; the rest is not read. */
const KEPT_BYTES = 16 * 1024;

/**
 * Reads an answer's body up to 16 KiB. `answer()` is what has arrived so far; `finished` resolves at the end of the body
 * or when enough was read, and rejects when the connection broke before.
 */
export function answerReader(
  headers: Record<string, string | string[] | undefined>,
  body: Readable,
): { answer: () => Answer; finished: Promise<void> } {
  const chunks: Buffer[] = [];
  let keptBytes = 0;
  let truncated = false;

  const finished = new Promise<void>((resolve, reject) => {
    body.on("data", (chunk: Buffer) => {
      const kept = chunk.subarray(0, KEPT_BYTES - keptBytes);
      chunks.push(kept);
      keptBytes += kept.byteLength;
      if (kept.byteLength === chunk.byteLength) return;
      truncated = true;
      resolve();
    });
    body.once("end", resolve);
    body.once("error", reject);
    body.once("close", resolve);
  });

  return {
    finished,
    answer: () => ({ headers: definedHeaders(headers), body: Buffer.concat(chunks), truncated }),
  };
}

function definedHeaders(headers: Record<string, string | string[] | undefined>): Answer["headers"] {
  const defined: Answer["headers"] = {};
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) defined[name] = value;
  return defined;
}
