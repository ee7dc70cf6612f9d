import { createHash, timingSafeEqual } from "node:crypto";
import express, { type Express, type RequestHandler } from "express";
import { z } from "zod";
import { eventIdSchema } from "../../shared/events.ts";
import { EVENT_STATES, type InboxEvent, type Ledger } from "../engine.ts";
import type { Health } from "./health.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { shownType } from "./privacy.ts";

const DEFAULT_LIMIT = 50;

const listQuerySchema = z.object({
  state: z.enum(EVENT_STATES).optional(),
  type: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(DEFAULT_LIMIT),
  before_seq: z.coerce.number().int().min(1).optional(),
});

/**
 * The operator's side, on its own port: metrics and a look into the inbox. Read-only, and without the contents of
 * events. `adminAllowedHosts` are the names it answers to, so that no web page can reach it through a name of its own
 * (DNS rebinding); `adminToken` is what a caller has to show. Whether we live and are ready, anybody may know.
 */
export function createAdminApp(options: {
  ledger: Ledger;
  health: Health;
  metrics: Metrics;
  log: Log;
  adminAllowedHosts: readonly string[] | undefined;
  adminToken: string | undefined;
}): Express {
  const { ledger, health, metrics } = options;
  const app = express();
  app.disable("x-powered-by");
  app.set("query parser", "simple");
  app.get("/healthz", (_request, response) => {
    response.json({ status: "ok" });
  });
  app.get("/readyz", async (_request, response) => {
    const { ready, checks } = await health.readiness();
    response.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not_ready", checks });
  });
  app.use(checkHost(options.adminAllowedHosts), checkToken(options.adminToken));
  app.get("/metrics", async (_request, response) => {
    const { contentType, body } = await metrics.text();
    response.set("Content-Type", contentType).send(body);
  });
  app.get("/inbox", async (request, response) => {
    const query = listQuerySchema.safeParse(request.query);
    if (!query.success) {
      const [issue] = query.error.issues;
      response.status(400).json({
        error: "invalid_request",
        message: `${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`,
      });
      return;
    }
    const { state, type, limit, before_seq: beforeSeq } = query.data;
    const events = await ledger.list(
      { ...(state === undefined ? {} : { state }), ...(type === undefined ? {} : { type }) },
      { limit, ...(beforeSeq === undefined ? {} : { beforeSeq }) },
    );
    response.json({ object: "list", data: events.map(presentEvent), has_more: events.length === limit });
  });
  app.get("/inbox/:id", async (request, response) => {
    const id = eventIdSchema.safeParse(request.params.id);
    const event = id.success ? await ledger.find(id.data) : undefined;
    if (event) response.json(presentEvent(event));
    else
      response
        .status(404)
        .json({ error: "not_found", message: `No event ${request.params.id} was accepted here.` });
  });
  app.use((_request, response) => {
    response.status(404).json({
      error: "not_found",
      message: "There are /metrics, /healthz, /readyz, /inbox and /inbox/{event_id}.",
    });
  });
  app.use(((error: unknown, _request, response, _next) => {
    options.log.error({ err: error }, "the admin port failed");
    if (!response.headersSent)
      response.status(500).json({ error: "server_error", message: "The receiver failed." });
  }) satisfies express.ErrorRequestHandler);
  return app;
}

function checkHost(allowedHosts: readonly string[] | undefined): RequestHandler {
  return (request, response, next) => {
    const host = (request.headers.host ?? "").replace(/:[0-9]+$/, "");
    if (allowedHosts === undefined || allowedHosts.includes(host)) next();
    else
      response
        .status(403)
        .json({ error: "forbidden_host", message: `Ask for one of ${allowedHosts.join(", ")}.` });
  };
}

function checkToken(token: string | undefined): RequestHandler {
  return (request, response, next) => {
    const [, given = ""] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
    if (token === undefined || timingSafeEqual(sha256(given), sha256(token))) next();
    else
      response
        .status(401)
        .set("WWW-Authenticate", "Bearer")
        .json({ error: "unauthorized", message: "Show ADMIN_TOKEN: Authorization: Bearer TOKEN." });
  };
}

/** Of equal length, whatever the texts are. */
function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** An event as the admin port and the `inbox` commands show it: snake_case, points in time as ISO 8601. */
export function presentEvent(event: InboxEvent): Record<string, unknown> {
  return {
    id: event.id,
    type: event.type === null ? null : shownType(event.type),
    state: event.state,
    attempts: event.attempts,
    handled: event.handled,
    duplicates: event.duplicates,
    source: event.source,
    received_at: iso(event.receivedAtMs),
    finished_at: event.finishedAtMs === null ? null : iso(event.finishedAtMs),
    next_attempt_at: event.nextAttemptAtMs === null ? null : iso(event.nextAttemptAtMs),
    last_error: event.lastError,
    seq: event.seq,
  };
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
