import type { IncomingMessage } from "node:http";
import { addAbortSignal } from "node:stream";

/**
 * `node:http` and `node:https`, as `import` gives them. An `import` reads everything they export, and with `http.WebSocket`
 * that is a whole second HTTP client, which takes longer to load than most commands take to run.
 */
export const http = process.getBuiltinModule("node:http");
/** Loads TLS: asked for where an address begins with https. */
export const loadHttps = () => process.getBuiltinModule("node:https");

const MIB = 1024 * 1024;

/**
 * Makes one request on a connection of its own and reads the whole text of its answer; rejects with why there is none. The
 * answer has at most `mostBytes`, and from its head on it may take `answerMs`; all else that limits it is `signal`.
 */
export function requestText(
  url: URL,
  options: {
    method?: string;
    headers: Record<string, string | number>;
    body?: string | undefined;
    signal: AbortSignal;
    mostBytes: number;
    answerMs?: number;
  },
): Promise<{ status: number; text: string }> {
  const { method = "GET", headers, body, signal } = options;
  const request = (url.protocol === "https:" ? loadHttps() : http).request;
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, signal, agent: false }, (answer) => {
      // From here on whoever reads the answer learns what went wrong, and says it better.
      outgoing.off("error", reject).on("error", () => undefined);
      readText(answer, options).then((text) => resolve({ status: answer.statusCode ?? 0, text }), reject);
    });
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}

async function readText(
  answer: IncomingMessage,
  { signal, mostBytes, answerMs }: { signal: AbortSignal; mostBytes: number; answerMs?: number },
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const slow = answerMs === undefined ? undefined : AbortSignal.timeout(answerMs);
  if (slow !== undefined) addAbortSignal(slow, answer);
  try {
    for await (const chunk of answer) {
      if (!(chunk instanceof Uint8Array)) continue;
      bytes += chunk.byteLength;
      if (bytes > mostBytes) throw new Error(`its answer is longer than ${sizeText(mostBytes)}`);
      chunks.push(chunk);
    }
    // An answer that says no length ends where its connection does, whoever ended that.
    signal.throwIfAborted();
  } catch (error) {
    if (slow?.aborted !== true) throw error;
    throw new Error(`its answer has no end: it came for ${(answerMs ?? 0) / 1000} s`, { cause: error });
  }
  return Buffer.concat(chunks).toString();
}

function sizeText(bytes: number): string {
  return bytes < MIB ? `${bytes / 1024} KiB` : `${bytes / MIB} MiB`;
}
