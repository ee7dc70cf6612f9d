import type { Agent } from "undici";
import type { z } from "zod";
import type { Clock } from "../clock.ts";
import { errorSchema } from "../../shared/errors.ts";
import { LIST_LIMIT_MAXIMUM } from "../../shared/limits.ts";
import { parsedOrNothing } from "./privacy.ts";
import { createRedactor } from "./secrets.ts";
import {
  agentSchema,
  callSchema,
  listSchema,
  organizationSchema,
  voicemailSchema,
  type Agent as AgentResource,
  type Call,
  type Organization,
  type Voicemail,
} from "../../shared/resources.ts";

/** One request, from connecting to the last byte. */
const REQUEST_TIMEOUT_MS = 10_000;
const MAXIMUM_TRIES = 4;
const FIRST_PAUSE_MS = 500;
/** A page of a hundred calls with long transcripts is some megabytes; more than this is no page. */
const MAXIMUM_RESPONSE_BYTES = 32 * 1_048_576;
/** Limits of one list: a million items of four kilobytes, more than anybody reads in one go. */
const MAXIMUM_PAGES = 10_000;
const MAXIMUM_LIST_BYTES = 4_096 * 1_048_576;
/** The service's own ids have some twenty characters. */
const LONGEST_ID = 256;
/** Characters that are kept of what the service says about an error. */
const LONGEST_MESSAGE = 300;

/** The service's REST API, read-only (SPEC §4). Every method throws `RestError` when there is no good answer. */
export type RestClient = {
  me: () => Promise<Organization>;
  agents: () => Promise<AgentResource[]>;
  /** Newest first, page by page as they are asked for. A list that does not end, or runs in a circle, is `malformed`. */
  calls: (options?: { outcome?: string; startingAfter?: string; pageSize?: number }) => AsyncGenerator<Call>;
  voicemails: (options?: {
    reviewed?: boolean;
    startingAfter?: string;
    pageSize?: number;
  }) => AsyncGenerator<Voicemail>;
  /** Milliseconds that the service's clock, by its Date header, is ahead of ours; undefined when it sends none. */
  clockSkewMs: () => Promise<number | undefined>;
  close: () => Promise<void>;
};

type Query = Record<string, string | undefined>;
type Answer = { status: number; headers: Record<string, string | string[] | undefined>; body: string };

/**
 * A client for one API key. Time-outs bound every request; answers of 5xx and network errors are tried again, four
 * times in all, with growing pauses; answers of 4xx never are, since the same request gets the same answer.
 */
export function createRestClient(options: {
  baseUrl: string;
  key: string;
  clock: Clock;
  random: () => number;
  /** Limits of one list; a million items, and 4 GiB, unless told otherwise. */
  maximumPages?: number;
  maximumListBytes?: number;
}): RestClient {
  const { clock, maximumPages = MAXIMUM_PAGES, maximumListBytes = MAXIMUM_LIST_BYTES } = options;
  let dispatcher: Agent | undefined;
  // People copy the address of the service, or that of its API.
  const base = options.baseUrl.replace(/(?:\/api\/v1)?\/*$/, "");
  const redact = createRedactor([options.key]);

  return {
    me: async () => (await get("/api/v1/me", {}, organizationSchema)).resource,
    agents: async () => (await get("/api/v1/agents", {}, listSchema(agentSchema))).resource.data,
    calls: ({ outcome, startingAfter, pageSize } = {}) =>
      walk("/api/v1/calls", callSchema, { outcome, starting_after: startingAfter, limit: limitOf(pageSize) }),
    voicemails: ({ reviewed, startingAfter, pageSize } = {}) =>
      walk("/api/v1/voicemails", voicemailSchema, {
        reviewed: reviewed === undefined ? undefined : String(reviewed),
        starting_after: startingAfter,
        limit: limitOf(pageSize),
      }),
    clockSkewMs: async () => {
      const { headers } = await send("/api/v1/me", {});
      const theirs = typeof headers["date"] === "string" ? Date.parse(headers["date"]) : Number.NaN;
      return Number.isNaN(theirs) ? undefined : theirs - clock.nowMs();
    },
    close: async () => dispatcher?.close(),
  };

  /** Items may arrive while the walk goes on; the cursor is an item, so none is skipped or seen twice (SPEC §4). */
  async function* walk<Item extends { id: string }>(
    path: string,
    item: z.ZodType<Item>,
    query: Query,
  ): AsyncGenerator<Item> {
    const cursors = new Set<string | undefined>();
    let listBytes = 0;
    let page = await get(path, query, listSchema(item));
    for (let pages = 1; ; pages += 1) {
      const { data, has_more: hasMore } = page.resource;
      const cursor = data.at(-1)?.id;
      listBytes += page.bytes;
      // Without these limits a walk might not end, or fill the memory.
      if (listBytes > maximumListBytes) throw malformed(path, `has no end after ${String(listBytes)} bytes`);
      if (data.length > Number(query["limit"]))
        throw malformed(path, "answered more items than were asked for");
      if (data.some(({ id }) => id.length > LONGEST_ID)) throw malformed(path, "answered an id without end");
      if (cursors.has(cursor)) throw malformed(path, "runs in a circle: a page came a second time");
      cursors.add(cursor);
      yield* data;
      if (hasMore !== true || cursor === undefined) return;
      if (pages === maximumPages) throw malformed(path, `has no end after ${String(pages)} pages`);
      page = await after(data);
    }

    /** The page after these items. Should the last of them have vanished meanwhile, the one before it serves as well. */
    async function after(items: readonly Item[]) {
      for (const { id } of items.slice(1).toReversed()) {
        try {
          return await get(path, { ...query, starting_after: id }, listSchema(item));
        } catch (error) {
          if (!(error instanceof RestError && error.code === "invalid_cursor")) throw error;
        }
      }
      return get(path, { ...query, starting_after: items[0]?.id }, listSchema(item));
    }
  }

  async function get<Resource>(path: string, query: Query, schema: z.ZodType<Resource>) {
    const { status, body } = await send(path, query);
    const json = parsedOrNothing(body);
    if (status !== 200) {
      const error = errorSchema.safeParse(json);
      const code = error.success ? worded(error.data.error) : "unexpected_answer";
      const message = error.success ? worded(error.data.message) : "the answer has no error code";
      throw new RestError({
        status,
        code,
        message: `GET ${path} was answered ${String(status)} ${code}: ${message}`,
      });
    }
    const resource = schema.safeParse(json);
    if (resource.success) return { resource: resource.data, bytes: Buffer.byteLength(body) };
    const [issue] = resource.error.issues;
    const place = `${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`;
    throw malformed(path, `answered something that is not what the API promises: ${worded(place)}`);
  }

  /** What the service says, without our key and at a length that can be read. */
  function worded(said: string): string {
    return redact(said).slice(0, LONGEST_MESSAGE);
  }

  async function send(path: string, query: Query): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await tryOnce(path, query).catch((error: unknown) => ({ problem: describe(error) }));
      const isProblem = "problem" in answer;
      if (!isProblem && (answer.status < 500 || attempt === MAXIMUM_TRIES)) return answer;
      if (isProblem && attempt === MAXIMUM_TRIES) {
        throw new RestError({
          code: "network",
          message: `GET ${base}${path} got no answer in ${String(MAXIMUM_TRIES)} tries: ${answer.problem}`,
        });
      }
      await clock.sleep(FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + options.random() / 2));
    }
  }

  async function tryOnce(path: string, query: Query): Promise<Answer> {
    const url = new URL(base + path);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, value);
    // One deadline for the whole request: undici's own begin again at each stage. While it connects, it ignores the signal
    // and has `connectTimeout`.
    const deadline = new AbortController();
    const cancel = clock.after(REQUEST_TIMEOUT_MS, () => deadline.abort(new Error("the time is up")));
    try {
      // Loaded with the first request: it takes a tenth of the time to start.
      const { Agent, request } = await import("undici");
      dispatcher ??= new Agent({
        connections: 4,
        connectTimeout: REQUEST_TIMEOUT_MS,
        maxResponseSize: MAXIMUM_RESPONSE_BYTES,
      });
      const { statusCode, headers, body } = await request(url, {
        dispatcher,
        signal: deadline.signal,
        headers: { authorization: `Bearer ${options.key}`, accept: "application/json" },
      });
      return { status: statusCode, headers, body: await body.text() };
    } finally {
      cancel();
    }
  }
}

/** No good answer from the REST API, after the tries that made sense. */
export class RestError extends Error {
  override readonly name = "RestError";
  /** The HTTP status, or undefined when no answer came. */
  readonly status: number | undefined;
  /** The service's own code (SPEC §7 Errors), such as `unauthorized`, or one of `network`, `malformed`. */
  readonly code: string;

  constructor(options: { status?: number; code: string; message: string }) {
    super(options.message);
    this.status = options.status;
    this.code = options.code;
  }

  /** The message as a sentence, and another one on what to do about it. */
  get explanation(): string {
    const advice =
      this.status === 401 ? "Check API_KEY." : "Check API_BASE_URL, and whether the service is up.";
    return `${this.message.replace(/\.?$/, ".")} ${advice}`;
  }
}

function malformed(path: string, what: string): RestError {
  return new RestError({ status: 200, code: "malformed", message: `GET ${path} ${what}` });
}

function limitOf(pageSize: number | undefined): string {
  return String(Math.min(pageSize ?? LIST_LIMIT_MAXIMUM, LIST_LIMIT_MAXIMUM));
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && typeof error.code === "string"
    ? `${error.code}: ${error.message}`
    : error.message;
}
