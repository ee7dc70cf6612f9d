import type { LookupFunction } from "node:net";
import { RESPONSE_TIMEOUT_MS } from "../domain/limits.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Send, SendRequest, SendResult } from "../domain/flights.ts";
import type { WallTime } from "../domain/wall-time.ts";
import { createKeptAnswer } from "./answer.ts";
import { type Connection, openConnection } from "./connection.ts";
import { classifyError, classifyStatus } from "./outcome.ts";
import { writeRequest } from "./request-bytes.ts";
import { createTurns } from "./turns.ts";

/**
 * Sends deliveries over the network. One attempt is one request on its own connection, one deadline over DNS, TCP, TLS and
 * answer, and one outcome: the first one is final. 1xx answers neither end an attempt nor extend it; redirects are not
 * followed. Never rejects.
 */
export function createSender(options: {
  wall: WallTime;
  allowedHosts: readonly string[];
  /** The service gives an endpoint 10 s (SPEC §8); tests and the search for a receiver use less. */
  timeoutMs?: number | undefined;
  lookup?: LookupFunction | undefined;
}): Send {
  const { wall, allowedHosts, timeoutMs = RESPONSE_TIMEOUT_MS, lookup } = options;
  const turns = createTurns();

  return (request) =>
    new Promise<SendResult>((resolve) => {
      const startedMs = wall.monotonicMs();
      let connection: Connection | undefined;
      let verdict: { outcome: Outcome; durationMs: number } | undefined;
      let kept: ReturnType<typeof createKeptAnswer> | undefined;
      let isOver = false;

      /** Keeps the first outcome; later events of the body do not change it. */
      const judge = (outcome: Outcome) => {
        verdict ??= { outcome, durationMs: wall.monotonicMs() - startedMs };
      };
      const end = (outcome: Outcome) => {
        judge(outcome);
        if (isOver || verdict === undefined) return;
        isOver = true;
        cancelDeadline();
        request.signal.removeEventListener("abort", interrupt);
        connection?.destroy();
        resolve({ ...verdict, answer: kept?.answer() });
      };
      const interrupt = () => end({ error: "interrupted" });
      const cancelDeadline = wall.after(timeoutMs, () => end({ error: "timeout" }));
      request.signal.addEventListener("abort", interrupt);
      if (request.signal.aborted) return interrupt();

      try {
        const url = new URL(request.url);
        const opened = openConnection({ url, allowedHosts, lookup, turns });
        connection = opened;
        let outcome: Outcome = { error: "protocol" };
        opened.begin({
          onHead(head) {
            outcome = outcomeOf(head.status, request);
            kept = createKeptAnswer(head);
            if (request.answerMeans === "headers" || "error" in outcome) judge(outcome);
          },
          onBody(bytes) {
            // The rest of the body does not change the outcome.
            if (kept?.take(bytes) === false && request.answerMeans === "headers") end(outcome);
          },
          onWhole: () => end(outcome),
          onFailure: end,
        });
        opened.whenReady(() => {
          if (!isOver) writeRequest(opened, request, wall);
        });
      } catch (error) {
        end(classifyError(error));
      }
    });
}

/** With the faults `drop-answer` and `time-out` the receiver has done its work, and the service does not see the answer. */
function outcomeOf(status: number, { faults }: SendRequest): Outcome {
  if (faults.has("drop-answer"))
    return { error: "closed", detail: "fault drop-answer: the answer was dropped on purpose" };
  if (faults.has("time-out"))
    return { error: "timeout", detail: "fault time-out: the answer was treated as too late on purpose" };
  return classifyStatus(status);
}
