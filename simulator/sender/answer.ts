import type { IncomingMessage } from "node:http";
import type { Answer } from "../domain/attempts.ts";
import type { Readings } from "../domain/readings.ts";

/** How much of an answer's body is kept. */
const KEPT_BYTES = 16 * 1024;

/**
 * Reads an answer's body and keeps up to 16 KiB of it. `answer()` is what has arrived so far. `finished` resolves at the
 * end of the body, or as soon as enough is kept where the body does not matter; it rejects when the connection broke
 * before. What `finished` rejects with is told by the request as well, where it knows more.
 */
export function readAnswer(
  response: IncomingMessage,
  answerMeans: Readings["answer_means"],
): { answer: () => Answer; finished: Promise<void> } {
  const chunks: Buffer[] = [];
  let keptBytes = 0;
  let truncated = false;

  const finished = new Promise<void>((resolve, reject) => {
    response.on("data", (chunk: Buffer) => {
      const kept = chunk.subarray(0, KEPT_BYTES - keptBytes);
      if (kept.byteLength > 0) chunks.push(kept);
      keptBytes += kept.byteLength;
      if (kept.byteLength === chunk.byteLength) return;
      truncated = true;
      if (answerMeans === "headers") resolve();
    });
    response.once("end", resolve);
    response.on("error", reject);
    response.once("close", resolve);
  });

  return {
    finished,
    answer: () => ({ headers: headersOf(response), body: Buffer.concat(chunks), truncated }),
  };
}

/** Every header, with a list of values where it came several times. */
function headersOf(response: IncomingMessage): Answer["headers"] {
  const headers: Answer["headers"] = {};
  for (const [name, values = []] of Object.entries(response.headersDistinct)) {
    const [only] = values;
    headers[name] = values.length === 1 && only !== undefined ? only : values;
  }
  return headers;
}
