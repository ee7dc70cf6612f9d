import { bareHost } from "../domain/endpoint-url.ts";
import { openConnection } from "./connection.ts";
import { failureWords } from "./outcome.ts";
import { requestBytes } from "./request-bytes.ts";
import { createTurns } from "./turns.ts";

const MIB = 1024 * 1024;

const turns = createTurns();
/** An `import` of node:http would read all its exports, and so load a second HTTP client (undici). */
const { validateHeaderValue } = process.getBuiltinModule("node:http");

/** Makes one request on its own connection and reads its text, of at most `mostBytes`; rejects with the reason. */
export async function requestText(
  url: URL,
  options: {
    method?: string;
    headers: Record<string, string>;
    body?: string | undefined;
    signal: AbortSignal;
    mostBytes: number;
  },
): Promise<{ status: number; text: string }> {
  const { method = "GET", body = "", signal, mostBytes } = options;
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  for (const [name, value] of Object.entries(options.headers)) validateHeaderValue(name, value);
  const headers = { host: url.host, connection: "close", ...credentials(url), ...options.headers };
  const request = requestBytes({ method, url: url.href, headers, body: Buffer.from(body) });
  const pieces: Buffer[] = [];
  let status = 0;
  let leftBytes = mostBytes;
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  // The user has named this host.
  const connection = openConnection({ url, allowedHosts: [bareHost(url)], turns });

  connection.begin({
    onHead: (head) => void (status = head.status),
    onBody(bytes) {
      pieces.push(bytes);
      leftBytes -= bytes.byteLength;
      if (leftBytes < 0) reject(new Error(`its answer is longer than ${sizeText(mostBytes)}`));
    },
    onWhole: () => resolve({ status, text: Buffer.concat(pieces).toString() }),
    onFailure: (failure) => reject(new Error(failureWords(failure))),
  });
  connection.whenReady(() => void connection.write(request));
  return promise.finally(() => {
    signal.removeEventListener("abort", abort);
    connection.destroy();
  });
}

/** The header for a URL's user information. */
function credentials({ username, password }: URL): { authorization?: string } {
  if (username === "" && password === "") return {};
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(text).toString("base64")}` };
}

function sizeText(bytes: number): string {
  return bytes < MIB ? `${bytes / 1024} KiB` : `${bytes / MIB} MiB`;
}
