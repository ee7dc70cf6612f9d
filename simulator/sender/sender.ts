import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import type { LookupFunction, Socket } from "node:net";
import { Readable } from "node:stream";
import { RESPONSE_TIMEOUT_MS } from "../../shared/limits.ts";
import type { Answer, Outcome } from "../domain/attempts.ts";
import type { Send, SendRequest, SendResult } from "../domain/dispatcher.ts";
import type { WallTime } from "../domain/wall-time.ts";
import { readAnswer } from "./answer.ts";
import { connect } from "./connect.ts";
import { classifyError, classifyStatus } from "./outcome.ts";
import { requestBody } from "./request-body.ts";

/**
 * The only place that opens sockets. One attempt is one request on a connection of its own (a pooled one may be dead
 * already and would fail a healthy receiver), one deadline over DNS, TCP, TLS and answer, and one outcome: whatever
 * comes first is final. 1xx answers neither end an attempt nor extend it; redirects are not followed. Never rejects.
 */
export function createSender(options: {
  wall: WallTime;
  allowedHosts: readonly string[];
  /** For tests; the service gives an endpoint 10 s (SPEC §8). */
  timeoutMs?: number;
  lookup?: LookupFunction;
}): Send {
  const { wall, allowedHosts, timeoutMs = RESPONSE_TIMEOUT_MS, lookup } = options;

  return (request) =>
    new Promise<SendResult>((resolve) => {
      const startedMs = wall.monotonicMs();
      let socket: Socket | undefined;
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
        socket?.destroy();
        resolve({ ...verdict, ...(answer && { answer: answer() }) });
      };
      const fail = (error: unknown) => end(classifyError(error));
      const interrupt = () => end({ error: "interrupted" });
      const cancelDeadline = wall.after(timeoutMs, () => end({ error: "timeout" }));
      request.signal.addEventListener("abort", interrupt);
      if (request.signal.aborted) return interrupt();

      try {
        const url = new URL(request.url);
        socket = connect({ url, allowedHosts, ...(lookup && { lookup }) });
        // Whatever a socket still has to say once nobody listens is no news.
        socket.on("error", () => {});
        const exchange = openExchange(url, request, socket);
        exchange.on("error", fail);
        exchange.on("upgrade", () => end({ error: "protocol", detail: "101: nobody asked for an upgrade" }));
        exchange.on("response", (response) => {
          const reader = readAnswer(response, request.answerMeans);
          answer = reader.answer;
          const outcome = outcomeOf(response, request);
          if (request.answerMeans === "headers" || "error" in outcome) judge(outcome);
          reader.finished.then(() => end(outcome), fail);
        });
        sendBody(exchange, requestBody(request, wall, socket));
      } catch (error) {
        fail(error);
      }
    });
}

function openExchange(url: URL, request: SendRequest, socket: Socket): ClientRequest {
  return httpRequest({
    createConnection: () => socket,
    method: "POST",
    path: `${url.pathname}${url.search}`,
    headers: {
      host: url.host,
      ...request.headers,
      "content-length": String(request.body.byteLength),
      "user-agent": "voice-agent-service/1.0",
      accept: "*/*",
      connection: "close",
    },
  });
}

function sendBody(exchange: ClientRequest, body: Buffer | Readable): void {
  if (body instanceof Readable) body.on("error", () => {}).pipe(exchange);
  else exchange.end(body);
}

/** With the fault `drop-answer` the receiver has done its work, and the service never learns of it. */
function outcomeOf(response: IncomingMessage, request: SendRequest): Outcome {
  if (!request.faults.has("drop-answer")) return classifyStatus(response.statusCode ?? 0);
  return { error: "closed", detail: "fault drop-answer: the answer was thrown away on purpose" };
}
