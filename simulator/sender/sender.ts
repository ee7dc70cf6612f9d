import type { Socket } from "node:net";
import { Client } from "undici";
import { RESPONSE_TIMEOUT_MS } from "../../shared/limits.ts";
import type { Answer, Outcome } from "../domain/attempts.ts";
import type { Send, SendRequest, SendResult } from "../domain/dispatcher.ts";
import type { WallTime } from "../domain/wall-time.ts";
import { answerReader } from "./answer.ts";
import { createConnector } from "./connector.ts";
import { classifyError } from "./outcome.ts";
import { requestBody } from "./request-body.ts";

/**
 * The only place that opens sockets. One attempt is one request on a connection of its own (a pooled one may be dead
 * already and would fail a healthy receiver), one deadline over DNS, TCP, TLS and answer, and one outcome: whatever
 * comes first is final. Redirects are not followed. Never rejects.
 */
export function createSender(options: {
  wall: WallTime;
  allowedHosts: readonly string[];
  /** For tests; the service gives an endpoint 10 s (SPEC §8). */
  timeoutMs?: number;
}): Send {
  const { wall, allowedHosts, timeoutMs = RESPONSE_TIMEOUT_MS } = options;

  return (request) =>
    new Promise<SendResult>((resolve) => {
      const startedMs = wall.monotonicMs();
      const url = new URL(request.url);
      const sockets = new Set<Socket>();
      const connect = createConnector({ url, allowedHosts, onSocket: (socket) => sockets.add(socket) });
      const client = openClient(url, connect);
      let verdict: { outcome: Outcome; durationMs: number } | undefined;
      let answer: (() => Answer) | undefined;
      let isOver = false;

      /** The first outcome is latched; nothing that happens to the body afterwards changes it. */
      const judge = (outcome: Outcome) => {
        verdict ??= { outcome, durationMs: wall.monotonicMs() - startedMs };
      };
      const end = (outcome: Outcome) => {
        judge(outcome);
        if (isOver || verdict === undefined) return;
        isOver = true;
        cancelDeadline();
        request.signal.removeEventListener("abort", interrupt);
        for (const socket of sockets) socket.destroy();
        client.destroy().catch(() => {});
        resolve({ ...verdict, ...(answer && { answer: answer() }) });
      };
      const interrupt = () => end({ error: "interrupted" });
      const cancelDeadline = wall.after(timeoutMs, () => end({ error: "timeout" }));
      request.signal.addEventListener("abort", interrupt);
      if (request.signal.aborted) return interrupt();

      exchange(client, url, request, wall, () => sockets)
        .then(({ statusCode, headers, body }) => {
          const reader = answerReader(headers, body);
          answer = reader.answer;
          const outcome = lossOf(request) ?? { status: statusCode };
          if (request.answerMeans === "headers" || "error" in outcome) judge(outcome);
          return reader.finished.then(() => end(outcome));
        })
        .catch((error: unknown) => end(classifyError(error)));
    });
}

function openClient(url: URL, connect: ReturnType<typeof createConnector>): Client {
  // Its own time-outs stay off: they are no deadlines (1xx answers extend them, connecting is outside of them).
  return new Client(url.origin, { connect, headersTimeout: 0, bodyTimeout: 0, pipelining: 1 });
}

async function exchange(
  client: Client,
  url: URL,
  request: SendRequest,
  wall: WallTime,
  sockets: () => Set<Socket>,
) {
  return client.request({
    method: "POST",
    path: `${url.pathname}${url.search}`,
    headers: {
      ...request.headers,
      "content-length": String(request.body.byteLength),
      "user-agent": "voice-agent-service/1.0",
      accept: "*/*",
    },
    body: requestBody(request, wall, sockets),
    reset: true,
  });
}

/** With the fault `drop-answer` the receiver has done its work, and the service never learns of it. */
function lossOf(request: SendRequest): Outcome | undefined {
  if (!request.faults.has("drop-answer")) return undefined;
  return { error: "closed", detail: "fault drop-answer: the answer was thrown away on purpose" };
}
