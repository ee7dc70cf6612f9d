import type { Dispatcher } from "undici";
import { z } from "zod";
import { errorSchema } from "../../shared/errors.ts";
import * as resources from "../../shared/resources.ts";
import type { Agent, Call, Organization, Voicemail } from "../../shared/resources.ts";
import { createCleaner } from "./privacy.ts";

const STAGE_MS = 10_000;
const REQUEST_MS = 60_000;
const RETRIES = 3;
/** A page of fifty calls of three hours each is smaller. */
const MAXIMUM_BODY_BYTES = 8 * 1_048_576;
const PAGE_ITEMS = 50;
const MAXIMUM_PAGES = 20_000;

type ListOptions = { startingAfter?: string | undefined };

/** The service's REST API, read-only (SPEC §4). Every method throws `RestError` if there is no good answer. */
export type RestClient = {
  me: () => Promise<Organization>;
  agents: () => Promise<Agent[]>;
  /** Newest first, page by page as they are asked for. */
  calls: (options?: ListOptions & { outcome?: string }) => AsyncGenerator<Call>;
  voicemails: (options?: ListOptions & { reviewed?: boolean }) => AsyncGenerator<Voicemail>;
  /** The service's clock by its Date header, in Unix milliseconds; undefined if it sends none. */
  serviceTimeMs: () => Promise<number | undefined>;
  close: () => Promise<void>;
};

/**
 * A client for one API key. Requests and bodies are bounded; 429, 5xx and network errors are tried again three times, with
 * growing pauses. A proxy is used as HTTP_PROXY, HTTPS_PROXY and NO_PROXY say.
 */
export function createRestClient(options: {
  baseUrl: string;
  key: string;
  /** Before the first try again; it doubles. */
  pauseMs?: number;
}): RestClient {
  // People copy the address of the service, or that of its API.
  const base = options.baseUrl.replace(/\/*$/, "").replace(/\/api\/v1$/, "");
  const clean = createCleaner([options.key]);
  // Loaded with the first request, so that no start waits for it.
  let dispatcher: Promise<Dispatcher> | undefined;

  return {
    me: async () => (await get("/api/v1/me", {}, resources.organizationSchema)).resource,
    agents: async () => {
      const { resource } = await get("/api/v1/agents", {}, resources.listSchema(resources.agentSchema));
      return resource.data;
    },
    calls: ({ outcome, startingAfter } = {}) =>
      walk("/api/v1/calls", { outcome, starting_after: startingAfter }, resources.callSchema),
    voicemails: ({ reviewed, startingAfter } = {}) =>
      walk("/api/v1/voicemails", { reviewed, starting_after: startingAfter }, resources.voicemailSchema),
    serviceTimeMs: async () => {
      const { date } = await get("/api/v1/me", {}, z.unknown());
      return typeof date === "string" ? Date.parse(date) : undefined;
    },
    close: async () => (await dispatcher)?.close(),
  };

  /** Items may arrive while it walks: the cursor is an item, so none is skipped or seen twice (SPEC §4). */
  async function* walk<Item extends { id: string }>(path: string, query: object, schema: z.ZodType<Item>) {
    const seen = new Set<string>();
    let cursor: object = {};
    for (let pages = 0; pages < MAXIMUM_PAGES; pages += 1) {
      const asked = { ...query, limit: PAGE_ITEMS, ...cursor };
      const { data, has_more: hasMore } = (await get(path, asked, resources.listSchema(schema))).resource;
      const last = data.at(-1)?.id;
      yield* data;
      if (hasMore !== true || last === undefined) return;
      if (seen.has(last) || last.length > 256) throw malformed(path, "runs in a circle");
      seen.add(last);
      cursor = { starting_after: last };
    }
    throw malformed(path, "has no end");
  }

  async function get<Resource>(path: string, query: object, schema: z.ZodType<Resource>) {
    const { status, date, body } = await send(path, query);
    const json = parsedOrNothing(body);
    if (status !== 200) {
      const { error = "unexpected_answer", message = "the answer has no error code" } =
        errorSchema.safeParse(json).data ?? {};
      throw new RestError(
        clean(`GET ${path} was answered ${String(status)} ${error}: ${message}`),
        clean(error),
        status,
      );
    }
    // Before each item is looked at: there may be millions.
    const isEndless = z.object({ data: z.array(z.unknown()).min(1_001) }).safeParse(json).success;
    const resource = schema.safeParse(isEndless ? undefined : json);
    if (!resource.success)
      throw malformed(path, `is not what the API promises: ${clean(z.prettifyError(resource.error))}`);
    return { resource: resource.data, date };
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
      throw new RestError(clean(`GET ${url.origin}${path} got no answer: ${describe(error)}`), "network");
    }
  }
}

async function createDispatcher(minTimeout: number): Promise<Dispatcher> {
  const { EnvHttpProxyAgent, interceptors } = await import("undici");
  const limits = { headersTimeout: STAGE_MS, bodyTimeout: STAGE_MS, connectTimeout: STAGE_MS };
  const agent = new EnvHttpProxyAgent({ ...limits, connections: 4, maxResponseSize: MAXIMUM_BODY_BYTES });
  const retry = { maxRetries: RETRIES, minTimeout, maxTimeout: 8_000, throwOnError: false };
  return agent.compose(interceptors.retry(retry));
}

/** No good answer from the REST API, after the tries that made sense. */
export class RestError extends Error {
  override readonly name = "RestError";
  /** The service's own code (SPEC §7 Errors), such as `unauthorized`, or `network` or `malformed`. */
  readonly code: string;
  /** Undefined if there was no answer. */
  readonly status: number | undefined;

  constructor(message: string, code: string, status?: number) {
    super(message);
    this.code = code;
    this.status = status;
  }

  /** The message, and what to do about it. */
  get explanation(): string {
    const advice =
      this.status === 401 ? "Check API_KEY." : "Check API_BASE_URL, and whether the service is up.";
    return `${this.message.replace(/\.?$/, ".")} ${advice}`;
  }
}

function malformed(path: string, what: string): RestError {
  return new RestError(`The answer to GET ${path} ${what}`, "malformed", 200);
}

function parsedOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? `${String(error.code)}: ${error.message}` : error.message;
}
