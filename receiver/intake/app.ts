import { randomUUID } from "node:crypto";
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from "express";
import { pinoHttp } from "pino-http";
import { SIGNATURE_HEADER } from "../../shared/signature.ts";
import { createAdmission } from "./admission.ts";
import type { Clock } from "../clock.ts";
import type { Health } from "../operations/health.ts";
import type { Inbox, Receipt } from "./inbox.ts";
import type { Log } from "../operations/log.ts";
import type { Metrics } from "../operations/metrics.ts";

/** The sender has its own schedule and ignores this; other clients and proxies read it. */
const RETRY_AFTER_SECONDS = 5;

/**
 * The public side: `POST` to the webhook path, and the two health checks. Every answer is JSON; an error has `error`
 * and `message`, and says no more than the sender needs: the precise reason goes to the log and the metrics.
 */
export function createApp(options: {
  inbox: Inbox;
  webhookPath: string;
  maxBodyBytes: number;
  health: Health;
  log: Log;
  metrics: Metrics;
  clock: Clock;
  maximumHeldBytes?: number;
}): Express {
  const { health, log, metrics } = options;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.enable("strict routing");
  app.enable("case sensitive routing");
  app.set("query parser", "simple");

  app.use(requestLog(log), closeWhileDraining(health));
  app.get("/healthz", (_request, response) => {
    response.json({ status: "ok" });
  });
  app.get("/readyz", async (_request, response) => {
    const { ready, checks } = await health.readiness();
    response.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not_ready", checks });
  });
  app
    .route(options.webhookPath)
    .post(
      refuseWhenUnable(options),
      createAdmission({
        refuse: unavailable("overloaded", metrics),
        ...(options.maximumHeldBytes === undefined ? {} : { maximumHeldBytes: options.maximumHeldBytes }),
      }),
      // Every content type, and none: the bytes are what was signed. Never inflated: a signed body isn't compressed.
      express.raw({ type: () => true, inflate: false, limit: options.maxBodyBytes }),
      receive(options),
    )
    .all((_request, response) => {
      response.set("Allow", "POST");
      answerError(response, 405, "method_not_allowed", "Send events with POST.");
    });
  app.use((_request, response) =>
    answerError(response, 404, "not_found", `Send events to ${options.webhookPath}.`),
  );
  app.use(answerFailure({ log, metrics }));
  return app;
}

/** One line a request, by its own id: what was asked, what was answered, why. Nothing of headers or body. */
function requestLog(log: Log): RequestHandler {
  return pinoHttp<Request, Response>({
    logger: log,
    genReqId: () => randomUUID(),
    quietReqLogger: true,
    wrapSerializers: false,
    serializers: {
      req: (request: Request) => ({ method: request.method, path: request.url.split("?", 1)[0] }),
      res: (response: Response) => ({ status: response.statusCode }),
    },
    customLogLevel: (request, response) => {
      if (response.statusCode >= 500) return "error";
      if (request.url === "/healthz" || request.url === "/readyz") return "debug";
      return response.statusCode >= 400 ? "warn" : "info";
    },
    customAttributeKeys: { reqId: "request_id", responseTime: "duration_ms" },
    customSuccessMessage: () => "answered",
    customErrorMessage: () => "answered",
    customSuccessObject: (_request, response, fields: object) => ({ ...fields, ...response.locals }),
    // A 503 is no error of ours; a bug is logged where it is caught, with its stack.
    customErrorObject: (_request, response, _error, fields: object) => ({
      ...fields,
      err: undefined,
      ...response.locals,
    }),
  });
}

function closeWhileDraining(health: Health): RequestHandler {
  return (_request, response, next) => {
    closeIfDraining(health, response);
    next();
  };
}

/** Asks the client to come back on a new connection, which will reach whoever takes over from us. */
function closeIfDraining(health: Health, response: Response): void {
  if (health.draining()) response.set("Connection", "close");
}

/** No body is read for nothing: what can't be stored now is refused at the door. */
function refuseWhenUnable({ health, metrics }: { health: Health; metrics: Metrics }): RequestHandler {
  return (request, response, next) => {
    const reason = health.draining() ? "draining" : health.diskLow() ? "disk_low" : undefined;
    if (reason === undefined) next();
    else unavailable(reason, metrics)(request, response, next);
  };
}

function unavailable(reason: string, metrics: Metrics): RequestHandler {
  return (_request, response) => {
    metrics.refused(reason);
    Object.assign(response.locals, { result: "refused", reason });
    answerUnavailable(response);
  };
}

function receive(options: { inbox: Inbox; clock: Clock; metrics: Metrics; health: Health }): RequestHandler {
  const { inbox, clock, metrics, health } = options;
  return async (request, response) => {
    const startedAtMs = clock.monotonicMs();
    const signatures = request.headersDistinct[SIGNATURE_HEADER.toLowerCase()] ?? [];
    // A request without a body leaves nothing for the parser to set.
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const receipt = await inbox({ signatures, body });
    // It was answered meanwhile: refused as too much, or timed out.
    if (response.headersSent) return;
    Object.assign(response.locals, describe(receipt));
    // Once more: the drain may have begun while the event was being stored.
    closeIfDraining(health, response);
    answer(response, receipt);
    metrics.received(receipt, (clock.monotonicMs() - startedAtMs) / 1_000);
  };
}

/** The one table from what happened to what is said about it. */
function answer(response: Response, receipt: Receipt): void {
  switch (receipt.kind) {
    case "stored":
      response.status(200).json({ received: true, duplicate: false });
      return;
    case "duplicate":
      response.status(200).json({ received: true, duplicate: true });
      return;
    case "invalid_signature":
      answerError(
        response,
        401,
        "invalid_signature",
        "The signature does not verify. Its precise fault is in the receiver's log.",
      );
      return;
    case "invalid_json":
      answerError(response, 400, "invalid_json", "The body is not JSON in UTF-8.");
      return;
    case "invalid_event":
      answerError(
        response,
        400,
        "invalid_event",
        "The body is JSON, but not an event. Its fault is in the receiver's log.",
      );
      return;
    case "unavailable":
      answerUnavailable(response);
  }
}

/** What the request's log line says about it; nobody else learns the precise reason. */
function describe(receipt: Receipt): Record<string, unknown> {
  switch (receipt.kind) {
    case "stored":
      return { result: receipt.kind, event_id: receipt.id, type: receipt.type };
    case "duplicate": {
      // The first body counts. Two different ones under one id are the sender's mistake, or somebody else's attempt.
      const { storedSha256: stored_sha256, receivedSha256: received_sha256 } = receipt.differs ?? {};
      const hashes = receipt.differs ? { stored_sha256, received_sha256 } : {};
      return { result: receipt.kind, event_id: receipt.id, type: receipt.type, ...hashes };
    }
    case "invalid_signature":
      return { result: receipt.kind, reason: receipt.reason };
    case "invalid_json":
    case "invalid_event":
      return { result: receipt.kind, reason: receipt.message };
    default:
      return { result: receipt.kind, reason: receipt.reason, detail: receipt.detail };
  }
}

function answerUnavailable(response: Response): void {
  response.set("Retry-After", String(RETRY_AFTER_SECONDS));
  answerError(response, 503, "unavailable", "The event was not stored. Send it again later.");
}

function answerError(response: Response, status: number, error: string, message: string): void {
  // What is left of a body that nobody will read must not become the next request.
  if (!response.req.complete) response.set("Connection", "close");
  response.status(status).json({ error, message });
}

/** Errors of the body parser, by its names for them; anything else is a bug of ours. */
function answerFailure({ log, metrics }: { log: Log; metrics: Metrics }): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    if (response.headersSent) return;
    const kind = typeof error === "object" && error !== null && "type" in error ? error.type : undefined;
    metrics.refused(typeof kind === "string" ? kind : "bug");
    response.locals["result"] = kind;
    if (kind === "entity.too.large") {
      answerError(response, 413, "body_too_large", "The body exceeds the limit of this receiver.");
    } else if (kind === "encoding.unsupported") {
      answerError(
        response,
        415,
        "unsupported_encoding",
        "Send the body as it was signed, without Content-Encoding.",
      );
    } else if (kind === "request.aborted" || kind === "request.size.invalid") {
      answerError(response, 400, "incomplete_body", "The body ended before its announced length.");
    } else {
      (request.log ?? log).error({ err: error }, "a bug: this request failed");
      answerError(response, 500, "server_error", "The receiver failed. Send the event again later.");
    }
  };
}
