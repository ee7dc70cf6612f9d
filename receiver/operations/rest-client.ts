import type { Dispatcher } from "undici";
import { z } from "zod";
import { errorSchema } from "../../shared/errors.ts";
import {
  agentSchema,
  callSchema,
  listSchema,
  organizationSchema,
  voicemailSchema,
} from "../../shared/resources.ts";
import type { Agent, Call, Organization, Voicemail } from "../../shared/resources.ts";
import { createCleaner } from "./privacy.ts";

const STAGE_MS = 10_000;
const REQUEST_MS = 60_000;
/** A page of fifty calls of three hours each is smaller. */
const MAXIMUM_BODY_BYTES = 8 * 1_048_576;
const PAGE_ITEMS = 50;
const MAXIMUM_PAGES = 20_000;

/** The service's REST API, read-only (SPEC §4). Every method throws `RestError` if there is no good answer. */
export type RestClient = {
  me: () => Promise<Organization>;
  agents: () => Promise<Agent[]>;
  /** Newest first, page by page as they are asked for. */
  calls: (options?: { outcome?: string; startingAfter?: string }) => AsyncGenerator<Call, void>;
  voicemails: (options?: { reviewed?: boolean; startingAfter?: string }) => AsyncGenerator<Voicemail, void>;
  /** The service's clock by its Date header, in Unix milliseconds; undefined if it sends none. */
  serviceTimeMs: () => Promise<number | undefined>;
  close: () => Promise<void>;
};

/**
 * A client for one API key. Requests and bodies are bounded; 429, 5xx and network errors are tried again three times, with
 * growing pauses from `pauseMs` on. A proxy is used as HTTP_PROXY, HTTPS_PROXY and NO_PROXY say.
 */
export function createRestClient(options: { baseUrl: string; key: string; pauseMs?: number }): RestClient {
  // People copy the address of the service, or that of its API.
  const base = options.baseUrl.replace(/\/*$/, "").replace(/\/api\/v1$/, "");
  const clean = createCleaner([options.key]);
  // Loaded with the first request, so that no start waits for it.
  let dispatcher: Promise<Dispatcher> | undefined;

  return {
    me: async () => (await get("/api/v1/me", {}, organizationSchema)).resource,
    agents: async () => (await get("/api/v1/agents", {}, listSchema(agentSchema))).resource.data,
    calls: ({ startingAfter: starting_after, ...query } = {}) =>
      walk("/api/v1/calls", { ...query, starting_after }, callSchema),
    voicemails: ({ startingAfter: starting_after, ...query } = {}) =>
      walk("/api/v1/voicemails", { ...query, starting_after }, voicemailSchema),
    serviceTimeMs: async () => {
      const { date } = await get("/api/v1/me", {}, z.unknown());
      return typeof date === "string" ? Date.parse(date) : undefined;
    },
    close: async () => (await dispatcher)?.close(),
  };

  /** Items may arrive while it walks: the cursor is an item, so none is skipped or seen twice (SPEC §4). */
  async function* walk<Item extends { id: string }>(path: string, query: object, schema: z.ZodType<Item>) {
    const seen = new Set<string>();
    for (let asked: object = { ...query, limit: PAGE_ITEMS }; seen.size < MAXIMUM_PAGES;) {
      const { data, has_more: hasMore } = (await get(path, asked, listSchema(schema))).resource;
      const last = data.at(-1)?.id;
      yield* data;
      if (hasMore !== true || last === undefined) return;
      if (seen.has(last) || last.length > 256) break;
      seen.add(last);
      asked = { ...asked, starting_after: last };
    }
    throw new RestError(`The list at ${path} has no end, or runs in a circle.`, "malformed");
  }

  async function get<Resource>(path: string, query: object, schema: z.ZodType<Resource>) {
    const { status, date, body } = await send(path, query);
    const json = parsedOrNothing(body);
    if (status !== 200) {
      const { error: code = "unexpected_answer", message = "no reason was given" } =
        errorSchema.safeParse(json).data ?? {};
      const fix = status === 401 ? "Check API_KEY." : "Check API_BASE_URL, and whether the service is up.";
      throw new RestError(
        clean(`GET ${path} was answered ${String(status)} ${code}: ${message}. ${fix}`),
        clean(code),
      );
    }
    // Before each item is looked at: there may be millions.
    const isEndless = z.object({ data: z.array(z.unknown()).min(1_001) }).safeParse(json).success;
    const resource = schema.safeParse(isEndless ? undefined : json);
    if (resource.success) return { resource: resource.data, date };
    const wrong = z.prettifyError(resource.error);
    throw new RestError(
      clean(`The answer to GET ${path} is not what the API promises: ${wrong}`),
      "malformed",
    );
  }

  async function send(path: string, query: object) {
    const url = new URL(base + path);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const { request } = await import("undici");
    try {
      const { statusCode, headers, body } = await request(url, {
        dispatcher: await (dispatcher ??= createDispatcher(options.pauseMs ?? 500)),
        signal: AbortSignal.timeout(REQUEST_MS),
        headers: { authorization: `Bearer ${options.key}`, accept: "application/json" },
      });
      return { status: statusCode, date: headers["date"], body: await body.text() };
    } catch (error) {
      const why =
        error instanceof Error ? `${"code" in error ? `${String(error.code)} ` : ""}${error.message}` : "";
      const fix = "Check API_BASE_URL, and whether the service is up.";
      throw new RestError(clean(`GET ${url.origin}${path} got no answer: ${why}. ${fix}`), "network");
    }
  }
}

async function createDispatcher(minTimeout: number): Promise<Dispatcher> {
  const { EnvHttpProxyAgent, interceptors } = await import("undici");
  const limits = { headersTimeout: STAGE_MS, bodyTimeout: STAGE_MS, connectTimeout: STAGE_MS };
  const agent = new EnvHttpProxyAgent({ ...limits, connections: 4, maxResponseSize: MAXIMUM_BODY_BYTES });
  return agent.compose(
    interceptors.retry({ maxRetries: 3, minTimeout, maxTimeout: 8_000, throwOnError: false }),
  );
}

/** No good answer from the REST API, after the tries that made sense; the message says what to do about it. */
export class RestError extends Error {
  override readonly name = "RestError";
  /** The service's own code (SPEC §7 Errors), such as `unauthorized`, or `network` or `malformed`. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

function parsedOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
