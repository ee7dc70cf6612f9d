import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Clock } from "../../../receiver/clock.ts";
import { sampleAgent, sampleCall, sampleOrganization, sampleVoicemail } from "../../../shared/samples.ts";
import type { Call, Voicemail } from "../../../shared/events.ts";
import { listen } from "../../helpers/listen.ts";

export const API_KEY = "key_test";

/**
 * A second implementation of the REST API, from the specification alone and as simple as possible, so that the client is
 * tested against code that it does not share. `calls` and `voicemails` are newest first and may be changed.
 */
export async function startRestService() {
  const state = {
    calls: [] as Call[],
    voicemails: [] as Voicemail[],
    /** Every request so far, as path and query. */
    requests: [] as string[],
    /** Whether the service is down for the n-th request. */
    isDown: (_count: number): boolean => false,
    /** Answers for the next requests, one each, in place of the usual ones. */
    interludes: [] as ((request: IncomingMessage, response: ServerResponse) => void)[],
  };

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://service");
    state.requests.push(url.pathname + url.search);
    const interlude = state.interludes.shift();
    if (interlude) {
      interlude(request, response);
      return;
    }
    if (state.isDown(state.requests.length)) {
      response.writeHead(500).end();
      return;
    }
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    if (request.headers.authorization !== `Bearer ${API_KEY}`) {
      answer(401, { error: "unauthorized", message: "Missing or invalid API key." });
    } else if (url.pathname === "/api/v1/me") answer(200, sampleOrganization);
    else if (url.pathname === "/api/v1/agents") answer(200, { object: "list", data: [sampleAgent] });
    else if (url.pathname === "/api/v1/calls") page(state.calls, url.searchParams, "outcome", answer);
    else if (url.pathname === "/api/v1/voicemails")
      page(state.voicemails, url.searchParams, "reviewed", answer);
    else answer(404, { error: "not_found", message: "No such path." });
  });
  const { url } = await listen(server);
  return { state, baseUrl: url };
}

function page(
  all: readonly (Record<string, unknown> & { id: string })[],
  query: URLSearchParams,
  filter: string,
  answer: (status: number, body: unknown) => void,
): void {
  const wanted = query.get(filter);
  const matching = wanted === null ? all : all.filter((item) => String(item[filter]) === wanted);
  const after = query.get("starting_after");
  const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  if (after !== null && from === 0) {
    answer(400, { error: "invalid_cursor", message: `There is no ${after}.` });
    return;
  }
  const rest = matching.filter((item) => all.indexOf(item) >= from);
  const limit = Number(query.get("limit") ?? 25);
  answer(200, { object: "list", data: rest.slice(0, limit), has_more: rest.length > limit });
}

/** `count` calls, newest first, one a minute before `newestAtMs`. */
export function makeCalls(count: number, newestAtMs: number, prefix = ""): Call[] {
  return Array.from({ length: count }, (_, index) => ({
    ...sampleCall,
    id: `call_${prefix}${String(count - index).padStart(5, "0")}`,
    created_at: timestamp(newestAtMs - index * 60_000),
  }));
}

export function makeVoicemails(count: number, newestAtMs: number): Voicemail[] {
  return Array.from({ length: count }, (_, index) => ({
    ...sampleVoicemail,
    id: `vm_${String(count - index).padStart(5, "0")}`,
    created_at: timestamp(newestAtMs - index * 60_000),
  }));
}

function timestamp(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d+Z$/, "Z");
}

/** A clock on which every sleep ends in the next turn of the event loop, and advances the time by its length. */
export function hurriedClock(): Clock {
  let nowMs = Date.UTC(2026, 0, 31);
  return {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    after: () => () => undefined,
    sleep: async (ms) => {
      await new Promise((resolve) => setImmediate(resolve));
      nowMs += ms;
    },
  };
}
