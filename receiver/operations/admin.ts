import { createHash, timingSafeEqual } from "node:crypto";
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Router } from "express";
import { z } from "zod";
import { eventIdSchema } from "../../shared/events.ts";
import type { Clock } from "../clock.ts";
import { EVENT_STATES, type Ledger } from "../engine.ts";
import type { Health } from "./health.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { presentEvent } from "./present.ts";

const DEFAULT_LIMIT = 50;

const listQuerySchema = z.object({
  state: z.enum(EVENT_STATES).optional(),
  type: z.string().optional(),
  handler: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(DEFAULT_LIMIT),
  before_seq: z.coerce.number().int().min(1).optional(),
});

/**
 * The operator's side, on its own port: metrics, the inbox as JSON, and a page. `adminAllowedHosts` are the names it
 * answers to, so that no web page can reach it through a name of its own (DNS rebinding); `adminToken` is what a caller
 * has to show, as a bearer or, from a browser, as the password beside any name. `/healthz` and `/readyz` answer
 * everybody.
 */
export function createAdminApp(options: {
  ledger: Ledger;
  health: Health;
  metrics: Metrics;
  log: Log;
  adminAllowedHosts: readonly string[] | undefined;
  adminToken: string | undefined;
  adminShowsBodies: boolean;
  clock: Clock;
}): Express {
  const { ledger, health, metrics, log } = options;
  const app = express();
  app.disable("x-powered-by");
  app.set("query parser", "simple");

  app.get("/healthz", (_request, response) => void response.json({ status: "ok" }));
  app.get("/readyz", async (_request, response) => {
    const { ready, checks } = await health.readiness();
    response.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not_ready", checks });
  });

  app.use(guardHost(options.adminAllowedHosts), guardToken(options.adminToken));

  app.get("/metrics", async (_request, response) => {
    const { contentType, body } = await metrics.text();
    response.set("Content-Type", contentType).send(body);
  });
  app.get("/inbox", async (request, response) => {
    const asked = listQuerySchema.safeParse(request.query);
    if (!asked.success) {
      const [issue] = asked.error.issues;
      const message = `${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`;
      response.status(400).json({ error: "invalid_request", message });
      return;
    }
    const { limit, before_seq: beforeSeq, ...filter } = asked.data;
    const events = await ledger.list(filter, { limit, beforeSeq });
    response.json({ object: "list", data: events.map(presentEvent), has_more: events.length === limit });
  });
  app.get("/inbox/:id", async (request, response) => {
    const id = eventIdSchema.safeParse(request.params.id);
    const event = id.success ? await ledger.find(id.data) : undefined;
    const message = `No event ${request.params.id} was accepted here.`;
    if (event) response.json(presentEvent(event));
    else response.status(404).json({ error: "not_found", message });
  });

  // The page for people, loaded when somebody first looks. To do without it, delete its folder and these lines.
  let page: Promise<Router> | undefined;
  app.use(async (request, response, next) => {
    page ??= import("./page/index.ts").then(({ createOperatorPage }) =>
      createOperatorPage({ ...options, showBodies: options.adminShowsBodies }),
    );
    (await page)(request, response, next);
  });

  app.use((_request, response) => {
    const message = "There are /, /metrics, /healthz, /readyz, /inbox and /inbox/{event_id}.";
    response.status(404).json({ error: "not_found", message });
  });
  app.use(((error: unknown, _request, response, next) => {
    // What Express could not read: a path, or a form.
    if (error instanceof Error && "status" in error && Number(error.status) < 500)
      return void response
        .status(Number(error.status))
        .json({ error: "invalid_request", message: error.message });
    log.error({ err: error }, "the admin port failed");
    if (response.headersSent) return next(error);
    response.status(500).json({ error: "server_error", message: "The receiver failed. Its log says why." });
  }) satisfies ErrorRequestHandler);
  return app;
}

function guardHost(allowed: readonly string[] | undefined): RequestHandler {
  return ({ headers }, response, next) => {
    const host = (headers.host ?? "").replace(/:[0-9]+$/, "");
    if (allowed === undefined || allowed.includes(host)) return next();
    response.status(403).json({ error: "forbidden_host", message: `Ask for one of ${allowed.join(", ")}.` });
  };
}

function guardToken(token: string | undefined): RequestHandler {
  return ({ headers }, response, next) => {
    const { name, secret } = credentialsOf(headers.authorization ?? "");
    response.locals["operator"] = name;
    if (token === undefined || timingSafeEqual(sha256(secret), sha256(token))) return next();
    const message = "Show ADMIN_TOKEN: Authorization: Bearer TOKEN, or any name with it as the password.";
    response
      .status(401)
      .set("WWW-Authenticate", ["Bearer", 'Basic realm="receiver", charset="UTF-8"'])
      .json({ error: "unauthorized", message });
  };
}

/** What a program shows as a bearer, and a browser as a password after it has asked for a name. */
function credentialsOf(authorization: string): { name?: string; secret: string } {
  const [, scheme = "", given = ""] = /^(Bearer|Basic) (\S+)$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== "basic") return { secret: given };
  const [, name = "", secret = ""] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(given, "base64").toString("utf8")) ?? [];
  return { name: name.slice(0, 64), secret };
}

/** `timingSafeEqual` wants equal lengths. */
function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
