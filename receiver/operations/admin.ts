import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { parse as parseQuery } from "node:querystring";
import { z } from "zod";
import { eventIdSchema } from "../../shared/events.ts";
import { EVENT_STATES, type InboxEvent, type Ledger } from "../engine.ts";
import { ANSWERS, errorAnswer, jsonAnswer, readinessAnswer, type Answer } from "../intake/answers.ts";
import { pathOf } from "../intake/app.ts";
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

/** Everything that can be asked, each with its answer. */
type Route = (request: IncomingMessage) => Promise<Answer>;

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
}): RequestListener {
  const { ledger, health, metrics } = options;
  const open: Readonly<Record<string, Route>> = {
    "/healthz": async () => jsonAnswer(200, { status: "ok" }),
    "/readyz": async () => readinessAnswer(await health.readiness()),
  };
  const guarded: Readonly<Record<string, Route>> = {
    "/metrics": async () => {
      const { contentType, body } = await metrics.text();
      return { status: 200, headers: ["Content-Type", contentType], body };
    },
    "/inbox": list,
  };

  return (request, response) => {
    respond(request)
      .catch((error: unknown) => {
        options.log.error({ err: error }, "the admin port failed");
        return ANSWERS.failed;
      })
      .then(({ status, headers, body }) => response.writeHead(status, headers).end(body))
      .catch((error: unknown) =>
        options.log.error({ err: error }, "a bug: an answer of the admin port failed"),
      );
  };

  async function respond(request: IncomingMessage): Promise<Answer> {
    const path = pathOf(request);
    const isQuestion = request.method === "GET" || request.method === "HEAD";
    const health = isQuestion ? routeOf(open, path) : undefined;
    if (health) return health(request);
    const refusal =
      refuseHost(request, options.adminAllowedHosts) ?? refuseToken(request, options.adminToken);
    if (refusal) return refusal;
    const route = isQuestion ? routeOf(guarded, path) : undefined;
    if (route) return route(request);
    const [, id] = isQuestion ? (/^\/inbox\/([^/]+)$/.exec(path) ?? []) : [];
    return id === undefined ? NOTHING_THERE : show(id);
  }

  async function list({ url = "" }: IncomingMessage): Promise<Answer> {
    const asked = listQuerySchema.safeParse(parseQuery(url.slice(url.indexOf("?") + 1 || url.length)));
    if (!asked.success) {
      const [issue] = asked.error.issues;
      return errorAnswer(400, "invalid_request", `${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
    }
    const { limit, before_seq: beforeSeq, ...filter } = asked.data;
    const events = await ledger.list(filter, { limit, beforeSeq });
    const data = events.map(presentEvent);
    return jsonAnswer(200, { object: "list", data, has_more: events.length === limit });
  }

  async function show(asked: string): Promise<Answer> {
    const id = eventIdSchema.safeParse(asked);
    const event = id.success ? await ledger.find(id.data) : undefined;
    if (event) return jsonAnswer(200, presentEvent(event));
    return errorAnswer(404, "not_found", `No event ${asked} was accepted here.`);
  }
}

const NOTHING_THERE = errorAnswer(
  404,
  "not_found",
  "There are /metrics, /healthz, /readyz, /inbox and /inbox/{event_id}.",
);

const TOKEN_MISSING = errorAnswer(
  401,
  "unauthorized",
  "Show ADMIN_TOKEN: Authorization: Bearer TOKEN.",
  "WWW-Authenticate",
  "Bearer",
);

function routeOf(routes: Readonly<Record<string, Route>>, path: string): Route | undefined {
  return Object.hasOwn(routes, path) ? routes[path] : undefined;
}

function refuseHost(
  { headers }: IncomingMessage,
  allowedHosts: readonly string[] | undefined,
): Answer | undefined {
  const host = (headers.host ?? "").replace(/:[0-9]+$/, "");
  if (allowedHosts === undefined || allowedHosts.includes(host)) return undefined;
  return errorAnswer(403, "forbidden_host", `Ask for one of ${allowedHosts.join(", ")}.`);
}

function refuseToken({ headers }: IncomingMessage, token: string | undefined): Answer | undefined {
  const [, given = ""] = /^Bearer (\S+)$/i.exec(headers.authorization ?? "") ?? [];
  if (token === undefined || timingSafeEqual(sha256(given), sha256(token))) return undefined;
  return TOKEN_MISSING;
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
