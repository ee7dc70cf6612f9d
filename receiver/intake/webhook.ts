import { SIGNATURE_HEADER } from "../../shared/signature.ts";
import type { Clock } from "../clock.ts";
import type { Health } from "../operations/health.ts";
import type { Log, RequestLog } from "../operations/log.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { Body } from "./body.ts";
import type { Inbox, Receipt } from "./inbox.ts";

/** The signature header's name in lower case, as both kinds of request have it. */
export const SIGNATURE_NAME = SIGNATURE_HEADER.toLowerCase();

/** The parts of a request that the webhook reads, from any framework. */
export type WebhookRequest = {
  method: string;
  /** Without the query. */
  path: string;
  /** Set by the app around the receiver. */
  id: string | undefined;
  /** The values of the signature header, separately if the framework keeps them apart. */
  signatures: readonly string[];
  /** Another header, by its lower-case name. */
  header: (name: string) => string | null | undefined;
  readBody: () => Promise<Body>;
  framework: keyof typeof RAW_BODY;
};

/** Answers one request to the webhook's path. Calls `send` as soon as the answer is known, and never rejects. */
export type Webhook = (request: WebhookRequest, send: (answer: Answer) => void) => Promise<void>;

/** The answer to the sender, and details for the log and the metrics only. */
type Result = { answer: Answer; refused?: string; receipt?: Receipt };

/** From a request to its answer: refuse what is invalid, read the body, store the event. */
export function createWebhook(options: {
  inbox: Inbox;
  maxBodyBytes: number;
  health: Pick<Health, "draining" | "diskLow">;
  log: Log;
  logRequest: RequestLog;
  metrics: Pick<Metrics, "received" | "refused">;
  clock: Clock;
}): Webhook {
  const { inbox, maxBodyBytes, health, log, logRequest, metrics, clock } = options;

  return async (request, send) => {
    const startedAtMs = clock.monotonicMs();
    const { answer, refused, receipt } = await receive(request).catch(failed);
    try {
      send(answer);
    } catch (error) {
      failed(error);
    }
    if (refused !== undefined) metrics.refused(refused);
    const durationMs = clock.monotonicMs() - startedAtMs;
    const { method, path, id } = request;
    logRequest({ method, path, id, status: answer.status, durationMs, refused, receipt });
  };

  async function receive(request: WebhookRequest): Promise<Result> {
    const refusal = refuseUnread(request);
    if (refusal) return refusal;
    const body = await request.readBody();
    if (!body.ok) {
      if (body.problem === "no_bytes") log.error(`${NO_BYTES} ${RAW_BODY[request.framework]}`);
      return { answer: ANSWERS[body.problem], refused: body.problem };
    }
    const arrivedAtMs = clock.monotonicMs();
    const { signatures } = request;
    const receipt = await inbox({ signatures, body: body.bytes });
    metrics.received(receipt, (clock.monotonicMs() - arrivedAtMs) / 1_000);
    return { answer: ANSWERS[receipt.kind], receipt };
  }

  /** Refuses a request before its body is read. */
  function refuseUnread({ method, header }: WebhookRequest): Result | undefined {
    if (method !== "POST") return { answer: ANSWERS.method };
    if (health.draining()) return { answer: ANSWERS.unavailable, refused: "draining" };
    if (health.diskLow()) return { answer: ANSWERS.unavailable, refused: "disk_low" };
    const encoding = header("content-encoding")?.trim().toLowerCase() ?? "";
    if (encoding !== "" && encoding !== "identity") return { answer: ANSWERS.encoded, refused: "encoded" };
    const isTooLarge = Number(header("content-length") ?? 0) > maxBodyBytes;
    return isTooLarge ? { answer: ANSWERS.too_large, refused: "too_large" } : undefined;
  }

  function failed(error: unknown): Result {
    log.error({ err: error }, "a bug: this request failed");
    return { answer: ANSWERS.failed, refused: "bug" };
  }
}

/** An answer, created once and sent often. Node.js sends a string together with the headers, a buffer after them. */
export type Answer = { status: number; headers: Record<string, string>; body: string };

const LATER = { "Retry-After": "5" };

/**
 * Every answer of the webhook. An error tells the sender only what it needs; the exact reason goes to the log and the
 * metrics. The service has its own schedule and ignores Retry-After, but other clients and proxies read it.
 */
export const ANSWERS = {
  stored: answer(200, { received: true, duplicate: false }),
  duplicate: answer(200, { received: true, duplicate: true }),
  invalid_signature: refusal(401, "invalid_signature", "The signature does not verify. The log says why."),
  invalid_json: refusal(400, "invalid_json", "The body is not JSON in UTF-8."),
  invalid_event: refusal(400, "invalid_event", "The body is JSON, but not an event. The log says why."),
  unavailable: refusal(503, "unavailable", "The event was not stored. Send it again later.", LATER),
  overloaded: refusal(503, "unavailable", "Too much is arriving at once. Send it again later.", LATER),
  too_large: refusal(413, "body_too_large", "The body exceeds the limit of this receiver."),
  in_pieces: refusal(400, "invalid_request", "The body arrives in too many small pieces."),
  encoded: refusal(415, "unsupported_encoding", "Send the body as it was signed, without Content-Encoding."),
  incomplete: refusal(400, "incomplete_body", "The body ended before its announced length."),
  late: refusal(408, "request_timeout", "The body took too long to arrive."),
  method: refusal(405, "method_not_allowed", "Send events with POST.", { Allow: "POST" }),
  no_bytes: refusal(500, "server_error", "The receiver got no bytes to verify. Its log says why."),
  failed: refusal(500, "server_error", "The receiver failed. Send the event again later."),
} as const satisfies Record<Receipt["kind"], Answer> & Record<string, Answer>;

function refusal(status: number, error: string, message: string, headers?: Record<string, string>): Answer {
  return answer(status, { error, message }, headers);
}

function answer(status: number, json: object, headers: Record<string, string> = {}): Answer {
  const body = JSON.stringify(json);
  const type = "application/json; charset=utf-8";
  return {
    status,
    headers: { ...headers, "Content-Type": type, "Content-Length": String(Buffer.byteLength(body)) },
    body,
  };
}

const NO_BYTES =
  "the body of a webhook was parsed or decoded before it came here: its bytes are gone, and no signature can be verified.";

/** How to fix an app whose parser took the bytes, for each framework. */
const RAW_BODY = {
  express:
    "Move the line of the body parser, such as app.use(express.json()), or of request.setEncoding(), below the line that mounts the receiver, or put express.raw({ type: () => true }) on the webhook's path above it",
  next: "Add to the route's file: export const config = { api: { bodyParser: false } }",
  fetch:
    "Call receiver.fetch(request) before request.json(), request.text() or a validator, or pass a request.clone() made before that",
  node: "In Fastify, call receiver.middleware(request.raw, reply.raw) in an onRequest hook, after reply.hijack(); in Koa, mount it before the body parser; in h3 and Nitro, return receiver.fetch(toWebRequest(event)); elsewhere, remove request.setEncoding() and anything that reads the body first",
};
