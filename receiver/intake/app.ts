import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { SIGNATURE_HEADER } from "../../shared/signature.ts";
import type { Clock } from "../clock.ts";
import type { Health } from "../operations/health.ts";
import type { Log } from "../operations/log.ts";
import type { Metrics } from "../operations/metrics.ts";
import { createRequestLog } from "../operations/request-log.ts";
import { ANSWERS, errorAnswer, jsonAnswer, readinessAnswer, send, type Answer } from "./answers.ts";
import { announcedBytes, createBodyReader, type BodyProblem } from "./body.ts";
import type { Inbox, Receipt } from "./inbox.ts";

const SIGNATURE_NAME = SIGNATURE_HEADER.toLowerCase();

/** What is said to the sender, and what the log and the metrics learn beside it. */
type Result = { answer: Answer; refused?: string; receipt?: Receipt };

/**
 * The public side: `POST` to the webhook path, and the two health checks. Every answer is JSON, from the one table in
 * `answers.ts`. Without a framework, since this is the path that every event takes.
 */
export function createApp(options: {
  inbox: Inbox;
  webhookPath: string;
  maxBodyBytes: number;
  health: Health;
  log: Log;
  metrics: Metrics;
  clock: Clock;
  maximumHeldBytes?: number | undefined;
}): RequestListener {
  const { inbox, webhookPath, maxBodyBytes, health, log, metrics, clock } = options;
  const readBody = createBodyReader({ maxBodyBytes, maximumHeldBytes: options.maximumHeldBytes });
  const logRequest = createRequestLog(log);
  const notFound = errorAnswer(404, "not_found", `Send events to ${webhookPath}.`);

  return (request, response) => {
    // An answer that comes to nothing, since the client is gone, is nobody's trouble.
    response.on("error", () => undefined);
    void converse(request, response);
  };

  async function converse(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAtMs = clock.monotonicMs();
    const { method = "" } = request;
    const path = pathOf(request);
    const { answer, refused, receipt } = await answerTo(request, response, path);
    // Looked up now: the drain may have begun while the event was being stored.
    send(response, answer, { close: health.draining() });
    if (refused !== undefined) metrics.refused(refused);
    const durationMs = clock.monotonicMs() - startedAtMs;
    logRequest({ method, path, status: answer.status, durationMs, refused, receipt });
  }

  async function answerTo(request: IncomingMessage, response: ServerResponse, path: string): Promise<Result> {
    try {
      return await route(request, response, path);
    } catch (error) {
      log.error({ err: error }, "a bug: this request failed");
      return { answer: ANSWERS.failed, refused: "bug" };
    }
  }

  function route(request: IncomingMessage, response: ServerResponse, path: string): Result | Promise<Result> {
    if (request.headers.host === undefined && request.httpVersion === "1.1")
      return { answer: ANSWERS.host_missing, refused: "host_missing" };
    if (path === webhookPath)
      return request.method === "POST" ? receive(request, response) : { answer: ANSWERS.method };
    if (path !== "/healthz" && path !== "/readyz") return { answer: notFound };
    if (request.method !== "GET" && request.method !== "HEAD") return { answer: ANSWERS.method_of_check };
    if (path === "/healthz") return { answer: jsonAnswer(200, { status: "ok" }) };
    return health.readiness().then((readiness) => ({ answer: readinessAnswer(readiness) }));
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<Result> {
    const refusal = refuseUnread(request);
    if (refusal) return refusal;
    if (request.headers.expect !== undefined && request.httpVersion === "1.1") response.writeContinue();
    const body = await readBody(request);
    if (!body.ok) return BODY_PROBLEMS[body.problem];

    const arrivedAtMs = clock.monotonicMs();
    // Every value by itself: Node joins what comes twice, and twice is what must be seen.
    const signatures = request.headersDistinct[SIGNATURE_NAME] ?? [];
    const receipt = await inbox({ signatures, body: body.bytes });
    metrics.received(receipt, (clock.monotonicMs() - arrivedAtMs) / 1_000);
    return { answer: ANSWERS[receipt.kind], receipt };
  }

  /** No body is read for nothing: what can't be taken is refused at the door. */
  function refuseUnread(request: IncomingMessage): Result | undefined {
    const { expect, "content-encoding": encoding = "identity" } = request.headers;
    if (health.draining()) return { answer: ANSWERS.unavailable, refused: "draining" };
    if (health.diskLow()) return { answer: ANSWERS.unavailable, refused: "disk_low" };
    if (expect !== undefined && expect.toLowerCase() !== "100-continue")
      return { answer: ANSWERS.expectation, refused: "expectation" };
    if (encoding.toLowerCase() !== "identity")
      return { answer: ANSWERS.encoded, refused: "encoding.unsupported" };
    return (announcedBytes(request) ?? 0) > maxBodyBytes ? BODY_PROBLEMS.too_large : undefined;
  }
}

const BODY_PROBLEMS: Readonly<Record<BodyProblem, Result>> = {
  too_large: { answer: ANSWERS.too_large, refused: "entity.too.large" },
  incomplete: { answer: ANSWERS.incomplete, refused: "request.aborted" },
  gave_way: { answer: ANSWERS.unavailable, refused: "overloaded" },
};

/** The path without its query, as it was sent; also of a request that names the whole address. */
export function pathOf({ url = "/" }: IncomingMessage): string {
  const target = url.startsWith("/") ? url : (/^https?:\/\/[^/?#]*(.*)$/i.exec(url)?.[1] ?? url);
  const end = target.indexOf("?");
  return end === -1 ? target : target.slice(0, end);
}
