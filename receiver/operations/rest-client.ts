import type { Dispatcher } from "undici";
import { z } from "zod";
import * as resources from "../../shared/events.ts";
import { createCleaner } from "./present.ts";

const STAGE_MS = 10_000;
const REQUEST_MS = 60_000;
/** A page of fifty calls of three hours each is smaller. */
const MAXIMUM_BODY_BYTES = 8 * 1_048_576;
const PAGE_ITEMS = 50;
const MAXIMUM_PAGES = 20_000;
const FIX =
  "Check API_BASE_URL, whether the service is up, and that HTTP_PROXY or HTTPS_PROXY, if set, is an address such as http://proxy:8080.";

export type RestClient = ReturnType<typeof createRestClient>;

/** The REST API gave no valid answer, after the retries that made sense. The message says what to do about it. */
export class RestError extends Error {
  override readonly name = "RestError";
  /** The service's own code (SPEC §7 Errors), such as `unauthorized`; or `network` or `malformed`. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/**
 * A read-only client of the service's REST API (SPEC §4) with one API key. Every method throws `RestError` without a valid
 * answer. Requests and bodies are bounded. 429, 5xx and network errors are retried three times, with growing pauses from
 * `pauseMs` on. HTTP_PROXY, HTTPS_PROXY and NO_PROXY are respected.
 */
export function createRestClient(options: { baseUrl: string; key: string; pauseMs?: number }) {
  // People copy the address of the service, or that of its API.
  const base = options.baseUrl.replace(/\/*$/, "").replace(/\/api\/v1$/, "");
  const clean = createCleaner([options.key]);
  // Loaded with the first request, so that it does not slow the start.
  let dispatcher: Promise<Dispatcher> | undefined;
  let serviceDate: string | undefined;

  return {
    me: async () => get("me", {}, resources.organizationSchema),
    agents: async () => (await get("agents", {}, resources.listSchema(resources.agentSchema))).data,
    /** Newest first, one page at a time on demand. */
    calls: (startingAfter?: string) => walk("calls", resources.callSchema, startingAfter),
    voicemails: (startingAfter?: string) => walk("voicemails", resources.voicemailSchema, startingAfter),
    /** The service's clock by the Date header of its last answer, in Unix milliseconds; undefined if there was none. */
    serviceTimeMs: () => (serviceDate === undefined ? undefined : Date.parse(serviceDate)),
    close: async () => (await dispatcher?.catch(() => undefined))?.close(),
  };

  /** Items may arrive during the walk. The cursor is an item, so none is skipped or seen twice (SPEC §4). */
  async function* walk<Item extends { id: string }>(
    path: string,
    schema: z.ZodType<Item>,
    startingAfter?: string,
  ): AsyncGenerator<Item, void> {
    const seen = new Set<string | undefined>();
    for (let after = startingAfter; seen.size < MAXIMUM_PAGES && !seen.has(after);) {
      seen.add(after);
      const query = { limit: PAGE_ITEMS, starting_after: after };
      const { data, has_more: hasMore } = await get(path, query, resources.listSchema(schema));
      yield* data;
      after = data.at(-1)?.id;
      if (hasMore !== true || after === undefined) return;
    }
    throw new RestError(`The list of ${path} does not end, or repeats itself.`, "malformed");
  }

  async function get<Answer>(path: string, query: object, schema: z.ZodType<Answer>): Promise<Answer> {
    const url = new URL(`${base}/api/v1/${path}`);
    const asked = `GET ${url.origin}${url.pathname}`;
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const { status, json } = await send(url).catch((error: NodeJS.ErrnoException) => {
      const why = `${error.code ?? ""} ${error.message}`;
      throw new RestError(clean(`${asked} got no answer: ${why}. ${FIX}`), "network");
    });
    if (status !== 200) {
      const { error = "unexpected_answer", message = "no reason was given" } =
        resources.errorSchema.safeParse(json).data ?? {};
      const answered = `${asked} was answered ${String(status)} ${error}: ${message.replace(/\.$/, "")}.`;
      throw new RestError(clean(`${answered} ${status === 401 ? "Check API_KEY." : FIX}`), clean(error));
    }
    const { success, data, error } = schema.safeParse(json);
    if (success) return data;
    const wrong = z.prettifyError(error);
    throw new RestError(clean(`The answer to ${asked} is not what the API promises: ${wrong}`), "malformed");
  }

  async function send(url: URL): Promise<{ status: number; json: unknown }> {
    const { request } = await import("undici");
    dispatcher ??= createDispatcher(options.pauseMs ?? 500);
    const { statusCode, headers, body } = await request(url, {
      dispatcher: await dispatcher,
      signal: AbortSignal.timeout(REQUEST_MS),
      headers: { authorization: `Bearer ${options.key}`, accept: "application/json" },
    });
    serviceDate = [headers["date"]].flat()[0];
    return { status: statusCode, json: parsedOrNothing(await body.text()) };
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

function parsedOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
