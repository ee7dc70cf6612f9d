import { hash, timingSafeEqual } from "node:crypto";
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Router } from "express";
import { z } from "zod";
import { eventIdSchema } from "../../shared/events.ts";
import type { Config } from "../config.ts";
import type { Ledger } from "../store/port.ts";
import type { Health } from "./health.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { presentEvent } from "./present.ts";
import { filterSchema } from "./selection.ts";

const listQuerySchema = filterSchema.extend({ limit: z.coerce.number().int().min(1).max(1_000).default(50) });

/**
 * The operator's app, on its own port: metrics, the inbox as JSON, and the page. `adminAllowedHosts` are the host names that
 * it answers to, so that no web page can reach it under another name (DNS rebinding). Callers send `adminToken` as a bearer
 * token, or from a browser as the password with any user name. `/healthz` and `/readyz` need no token.
 */
export function createAdminApp(
  options: Pick<Config, "adminAllowedHosts" | "adminToken"> & {
    ledger: Ledger;
    health: Health;
    metrics: Metrics;
    log: Log;
    page: RequestHandler;
  },
): Express {
  const { ledger, health, metrics, log, page } = options;
  const app = express();
  app.disable("x-powered-by");
  app.enable("case sensitive routing");
  app.set("query parser", "simple");

  app.use(healthRoutes(health));
  app.use(guardHost(options.adminAllowedHosts), guardToken(options.adminToken));

  app.get("/metrics", async (_request, response) => {
    const { contentType, body } = await metrics.text();
    response.set("Content-Type", contentType).send(body);
  });
  app.get("/inbox", async ({ query }, response) => {
    const { limit, before_seq: beforeSeq, ...filter } = listQuerySchema.parse(query);
    const events = await ledger.list(filter, { limit, beforeSeq });
    response.json({ object: "list", data: events.map(presentEvent), has_more: events.length === limit });
  });
  app.get("/inbox/:id", async ({ params: { id } }, response) => {
    const event = eventIdSchema.safeParse(id).success && (await ledger.find(id));
    if (event) response.json(presentEvent(event));
    else refuse(response, 404, "not_found", `No event ${id} was accepted here.`);
  });
  app.use(page);

  const paths = "Paths: /, /metrics, /healthz, /readyz, /inbox and /inbox/{event_id}.";
  app.use((_request, response) => refuse(response, 404, "not_found", paths));
  app.use(answerErrors(log));
  return app;
}

/** `/healthz`: the process answers. `/readyz`: it can do its work now; otherwise the answer says why not. */
export function healthRoutes({ readiness }: Pick<Health, "readiness">): Router {
  const routes = express.Router({ caseSensitive: true, strict: true });
  routes.get("/healthz", (_request, response) => void response.json({ status: "ok" }));
  routes.get("/readyz", async (_request, response) => {
    const { ready, checks } = await readiness();
    response.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not_ready", checks });
  });
  routes.all(["/healthz", "/readyz"], (_request, response) =>
    refuse(response.set("Allow", "GET, HEAD"), 405, "method_not_allowed", "Use GET."),
  );
  return routes;
}

/** Answers what went wrong: below 500 if the client sent what cannot be read, such as a wrong query or body. */
export function answerErrors(
  log: Log,
  answer = (response: express.Response, status: number, message: string): void =>
    refuse(response, status, status < 500 ? "invalid_request" : "server_error", message),
): ErrorRequestHandler {
  return (err: unknown, _request, response, next) => {
    if (response.headersSent) return next(err);
    if (err instanceof z.ZodError)
      return answer(response, 400, err.issues.map((one) => `${one.path.join()}: ${one.message}`).join("; "));
    if (err instanceof Error && "status" in err && Number(err.status) < 500)
      return answer(response, Number(err.status), err.message);
    log.error({ err }, "a request failed");
    answer(response, 500, "The request failed. Its log says why.");
  };
}

function refuse(response: express.Response, status: number, error: string, message: string): void {
  response.status(status).json({ error, message });
}

function guardHost(allowed: readonly string[] | undefined): RequestHandler {
  return ({ headers }, response, next) => {
    const host = (headers.host ?? "").replace(/:[0-9]+$/, "").toLowerCase();
    if (allowed === undefined || allowed.includes(host)) next();
    else refuse(response, 403, "forbidden_host", `Ask for one of ${allowed.join(", ")}.`);
  };
}

function guardToken(token: string | undefined): RequestHandler {
  const fix = "Send ADMIN_TOKEN as a bearer token, or as the password with any user name.";
  return ({ headers }, response, next) => {
    const [, scheme = "", given = ""] = /^(Bearer|Basic) (\S+)$/i.exec(headers.authorization ?? "") ?? [];
    const pair = scheme.toLowerCase() === "basic" ? Buffer.from(given, "base64").toString() : `:${given}`;
    const [name = ""] = pair.split(":");
    response.locals["operator"] = name.slice(0, 64);
    const shown = pair.slice(name.length + 1);
    if (token === undefined || timingSafeEqual(sha256(shown), sha256(token))) return next();
    response.set("WWW-Authenticate", ["Bearer", 'Basic realm="receiver", charset="UTF-8"']);
    refuse(response, 401, "unauthorized", fix);
  };
}

/** `timingSafeEqual` needs buffers of equal length. */
function sha256(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
