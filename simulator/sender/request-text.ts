import { bareHost } from "../domain/endpoint-url.ts";
import { untilAborted } from "../until-aborted.ts";
import { openConnection } from "./connection.ts";
import { failureWords } from "./outcome.ts";
import { requestBytes } from "./request-bytes.ts";
import { createTurns } from "./turns.ts";

const MIB = 1024 * 1024;

const turns = createTurns();

/**
 * Makes one request on a connection of its own and reads the whole text of its answer; rejects with why there is none. The
 * answer has at most `mostBytes` and ends at most `answerMs` after its head; `signal` ends the request earlier.
 */
export async function requestText(
  url: URL,
  options: {
    method?: string;
    headers: Record<string, string>;
    body?: string | undefined;
    signal: AbortSignal;
    mostBytes: number;
    answerMs?: number;
  },
): Promise<{ status: number; text: string }> {
  const { method = "GET", body = "", signal, mostBytes, answerMs } = options;
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const pieces: Buffer[] = [];
  let status = 0;
  let leftBytes = mostBytes;
  // The user has named this host.
  const connection = openConnection({ url, allowedHosts: [bareHost(url)], turns });
  void untilAborted(signal).then(() => reject(signal.reason));

  connection.begin({
    onHead(head) {
      status = head.status;
      if (answerMs === undefined) return;
      const why = new Error(`its answer has no end: it came for ${answerMs / 1000} s`);
      void untilAborted(AbortSignal.timeout(answerMs)).then(() => reject(why));
    },
    onBody(bytes) {
      pieces.push(bytes);
      leftBytes -= bytes.byteLength;
      if (leftBytes < 0) reject(new Error(`its answer is longer than ${sizeText(mostBytes)}`));
    },
    onWhole: () => resolve({ status, text: Buffer.concat(pieces).toString() }),
    onFailure: (failure) => reject(new Error(failureWords(failure))),
  });
  connection.whenReady(() => {
    const headers = { Host: url.host, Connection: "close", ...credentials(url), ...options.headers };
    connection.write(requestBytes({ method, url: url.href, headers, body: Buffer.from(body) }));
  });
  return promise.finally(connection.destroy);
}

/** What a URL with user information asks to be sent. */
function credentials({ username, password }: URL): { Authorization?: string } {
  if (username === "" && password === "") return {};
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { Authorization: `Basic ${Buffer.from(text).toString("base64")}` };
}

function sizeText(bytes: number): string {
  return bytes < MIB ? `${bytes / 1024} KiB` : `${bytes / MIB} MiB`;
}
