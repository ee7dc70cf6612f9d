import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { createRestClient, RestError } from "../../receiver/operations/rest-client.ts";
import type { Call } from "../../shared/resources.ts";
import { sampleAgent, sampleOrganization } from "../../shared/samples.ts";
import { API_KEY, makeCalls, makeVoicemails, startRestService } from "./helpers/rest-service.ts";

const NOW = Date.UTC(2026, 0, 31, 18);

async function setUp(
  options: {
    key?: string;
    path?: string;
    maximumPages?: number;
    maximumListBytes?: number;
    chance?: number;
    nowMs?: number;
  } = {},
) {
  const service = await startRestService();
  const pauses: number[] = [];
  const clock = {
    ...systemClock,
    nowMs: () => options.nowMs ?? systemClock.nowMs(),
    sleep: async (ms: number) => void pauses.push(ms),
  };
  const client = createRestClient({
    baseUrl: `${service.baseUrl}${options.path ?? "/"}`,
    key: options.key ?? API_KEY,
    clock,
    random: () => options.chance ?? 1,
    ...(options.maximumPages === undefined ? {} : { maximumPages: options.maximumPages }),
    ...(options.maximumListBytes === undefined ? {} : { maximumListBytes: options.maximumListBytes }),
  });
  onTestFinished(client.close);
  return { ...service, client, pauses };
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

async function failure(promise: Promise<unknown>): Promise<RestError> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(RestError);
  return error as RestError;
}

describe("the REST client", () => {
  test.each(["", "/", "/api/v1", "/api/v1/"])(
    "takes the service's address with %j at its end",
    async (path) => {
      const { client } = await setUp({ path });
      expect(await client.me()).toEqual(sampleOrganization);
    },
  );

  test("reads the organization and the agents", async () => {
    const { client } = await setUp();
    expect(await client.me()).toEqual(sampleOrganization);
    expect(await client.agents()).toEqual([sampleAgent]);
  });

  test.for([0, 1, 99, 100, 101, 250])("walks %i calls page by page, each once", async (count) => {
    const { client, state } = await setUp();
    state.calls = makeCalls(count, NOW);
    expect(await collect(client.calls())).toEqual(state.calls);
    expect(state.requests).toHaveLength(Math.max(1, Math.ceil(count / 100)));
  });

  test("asks for no page that nobody wants to see", async () => {
    const { client, state } = await setUp();
    state.calls = makeCalls(250, NOW);
    for await (const call of client.calls()) if (call.id === state.calls[50]?.id) break;
    expect(state.requests).toEqual(["/api/v1/calls?limit=100"]);
  });

  test("keeps filters from page to page", async () => {
    const { client, state } = await setUp();
    state.calls = makeCalls(30, NOW).map((call, index) => ({
      ...call,
      outcome: index % 3 === 0 ? "voicemail" : "completed",
    }));
    expect(await collect(client.calls({ outcome: "voicemail", pageSize: 4 }))).toHaveLength(10);
    state.voicemails = makeVoicemails(9, NOW);
    expect(await collect(client.voicemails({ reviewed: false, pageSize: 4 }))).toHaveLength(9);
    expect(await collect(client.voicemails({ reviewed: true }))).toEqual([]);
    expect(
      state.requests.every(
        (request) => request.includes("outcome=voicemail") || request.includes("reviewed="),
      ),
    ).toBe(true);
  });

  test("skips nothing and repeats nothing when calls arrive or vanish during the walk", async () => {
    const { client, state } = await setUp();
    const before = makeCalls(30, NOW);
    state.calls = [...before];
    const seen: string[] = [];
    for await (const call of client.calls({ pageSize: 10 })) {
      seen.push(call.id);
      // The very item that is the next cursor goes, and a new one comes.
      if (seen.length === 10)
        state.calls = [...makeCalls(1, NOW, "new"), ...state.calls.filter(({ id }) => id !== call.id)];
    }
    expect(seen).toEqual(before.map(({ id }) => id));
  });

  test("gives up on a cursor when the whole page it came from has vanished", async () => {
    const { client, state } = await setUp();
    state.calls = makeCalls(20, NOW);
    const error = await failure(
      (async () => {
        for await (const _call of client.calls({ pageSize: 10 })) state.calls = makeCalls(20, NOW, "other");
      })(),
    );
    expect(error).toMatchObject({ status: 400, code: "invalid_cursor" });
  });

  test("tries again after 5xx and lost connections, with growing pauses, four times at most", async () => {
    const { client, state, pauses } = await setUp();
    state.interludes = [
      (_, response) => response.writeHead(503).end(),
      (request) => request.socket.destroy(),
      (_, response) => response.writeHead(500).end('{"error":"server_error","message":"x"}'),
    ];
    expect(await client.me()).toEqual(sampleOrganization);
    expect(pauses).toEqual([500, 1_000, 2_000]);
    state.interludes = Array.from(
      { length: 4 },
      () => (_: unknown, response: { writeHead: (status: number) => { end: (body: string) => void } }) =>
        response.writeHead(500).end('{"error":"server_error","message":"internal failure"}'),
    );
    expect(await failure(client.me())).toMatchObject({ status: 500, code: "server_error" });
    expect(state.requests).toHaveLength(8);
  });

  test.each([
    [0, [250, 500, 1_000]],
    [0.5, [375, 750, 1_500]],
    [1, [500, 1_000, 2_000]],
  ])(
    "pauses by chance of %d for %j ms, after which it says where and how often it asked",
    async (chance, expected) => {
      const { client, state, pauses, baseUrl } = await setUp({ chance });
      state.interludes = Array.from(
        { length: 4 },
        () => (request: IncomingMessage) => request.socket.destroy(),
      );
      const { message } = await failure(client.me());
      expect(pauses).toEqual(expected);
      expect(message).toMatch(new RegExp(`^GET ${baseUrl}/api/v1/me got no answer in 4 tries: `));
    },
  );

  test("shows its key and asks for JSON, with only the options that were given", async () => {
    const { client, state } = await setUp();
    const headers: object[] = [];
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      headers.push(request.headers);
      response.end('{"object":"list","data":[],"has_more":false}');
    };
    state.interludes = Array.from({ length: 6 }, () => answer);
    await collect(client.calls());
    await collect(client.calls({ outcome: "a b&c", startingAfter: "call_1", pageSize: 7 }));
    await collect(client.calls({ pageSize: 1_000 }));
    await collect(client.voicemails());
    await collect(client.voicemails({ reviewed: false, startingAfter: "vm_1", pageSize: 7 }));
    await collect(client.voicemails({ reviewed: true }));
    expect(state.requests).toEqual([
      "/api/v1/calls?limit=100",
      "/api/v1/calls?outcome=a+b%26c&starting_after=call_1&limit=7",
      "/api/v1/calls?limit=100",
      "/api/v1/voicemails?limit=100",
      "/api/v1/voicemails?reviewed=false&starting_after=vm_1&limit=7",
      "/api/v1/voicemails?reviewed=true&limit=100",
    ]);
    expect(headers[0]).toMatchObject({ authorization: `Bearer ${API_KEY}`, accept: "application/json" });
  });

  test.each([
    [404, '{"error":"not_found","message":"No such path."}', "not_found", "404 not_found: No such path."],
    [403, "{}", "unexpected_answer", "403 unexpected_answer: the answer has no error code"],
    [400, "<html>", "unexpected_answer", "400 unexpected_answer: the answer has no error code"],
    [201, '{"error":"odd","message":"why"}', "odd", "201 odd: why"],
  ])("tells of an answer of %i with %s by its code and words", async (status, text, code, words) => {
    const { client, state } = await setUp();
    state.interludes = [(_, response) => response.writeHead(status).end(text)];
    expect(await failure(client.agents())).toMatchObject({
      status,
      code,
      message: `GET /api/v1/agents was answered ${words}`,
    });
  });

  test.each([
    ["Sat, 31 Jan 2026 18:00:05 GMT", 5_000],
    ["Sat, 31 Jan 2026 17:59:00 GMT", -60_000],
    ["yesterday", undefined],
  ])("by the service's Date %s its clock is ahead by %o ms", async (date, skewMs) => {
    const { client, state } = await setUp({ nowMs: NOW });
    state.interludes = [(_, response) => response.writeHead(200, { date }).end("{}")];
    expect(await client.clockSkewMs()).toBe(skewMs);
  });

  test("never tries again after 4xx", async () => {
    const { client, state } = await setUp({ key: "wrong" });
    expect(await failure(client.me())).toMatchObject({ status: 401, code: "unauthorized" });
    expect(state.requests).toHaveLength(1);
  });

  test("says so when nobody answers, and what is not an answer", async () => {
    const { client, state } = await setUp();
    state.interludes = Array.from(
      { length: 4 },
      () => (request: { socket: { destroy: () => void } }) => request.socket.destroy(),
    );
    expect(await failure(client.me())).toMatchObject({ status: undefined, code: "network" });
    state.interludes = [(_, response) => response.end("<html>")];
    expect(await failure(client.me())).toMatchObject({ status: 200, code: "malformed" });
    state.interludes = [(_, response) => response.writeHead(302, { location: "/elsewhere" }).end()];
    expect(await failure(client.me())).toMatchObject({ status: 302, code: "unexpected_answer" });
  });

  test("ends a request that drips or hangs at its deadline", async () => {
    const { state, baseUrl } = await startRestService().then((service) => service);
    const clock = {
      ...systemClock,
      sleep: async () => undefined,
      after: (_ms: number, run: () => void) => systemClock.after(50, run),
    };
    const client = createRestClient({ baseUrl, key: API_KEY, clock, random: () => 1 });
    const drips: NodeJS.Timeout[] = [];
    state.interludes = Array.from(
      { length: 4 },
      () => (_: unknown, response: { write: (text: string) => void }) => {
        drips.push(setInterval(() => response.write(" "), 10));
      },
    );
    expect(await failure(client.me())).toMatchObject({ code: "network" });
    for (const drip of drips) clearInterval(drip);
  });

  test.for<[string, (page: number, query: URLSearchParams) => Call[], RegExp, number]>([
    ["repeats its first page", () => makeCalls(100, NOW), /runs in a circle/, 100],
    ["goes round in three pages", (page) => makeCalls(100, NOW, `${page % 3}`), /runs in a circle/, 300],
    ["has no end", (page) => makeCalls(100, NOW, String(page)), /has no end after 5 pages/, 500],
    ["answers more than was asked for", () => makeCalls(101, NOW), /more items than were asked for/, 0],
    ["has ids of megabytes", () => makeCalls(1, NOW, "x".repeat(1_000_000)), /answered an id without end/, 0],
  ])("ends the walk through a list that %s", async ([, pageOf, problem, read]) => {
    const { client, state } = await setUp({ maximumPages: 5 });
    let page = 0;
    state.interludes = Array.from({ length: 10 }, () => (request, response) => {
      const query = new URL(request.url ?? "/", "http://x").searchParams;
      response.end(JSON.stringify({ object: "list", data: pageOf(page, query), has_more: true }));
      page += 1;
    });
    let seen = 0;
    const walk = (async () => {
      for await (const _call of client.calls()) seen += 1;
    })();
    const error = await failure(walk);
    expect(error).toMatchObject({ code: "malformed", message: expect.stringMatching(problem) });
    expect(error.message.length).toBeLessThan(200);
    expect(seen).toBe(read);
  });

  describe("a list of three pages", () => {
    const pages = [0, 1, 2].map((page) =>
      JSON.stringify({ object: "list", data: makeCalls(100, NOW, String(page)), has_more: page < 2 }),
    );
    const bytes = Buffer.byteLength(pages.join(""));

    async function walk(maximumListBytes: number): Promise<Call[]> {
      const { client, state } = await setUp({ maximumListBytes });
      state.interludes = pages.map((page) => (_, response) => response.end(page));
      return collect(client.calls());
    }

    test("is read to its end where it has as many bytes as a list may have", async () => {
      expect(await walk(bytes)).toHaveLength(300);
    });

    test("is left where it has one byte more", async () => {
      expect(await failure(walk(bytes - 1))).toMatchObject({
        code: "malformed",
        message: expect.stringMatching(/has no end after [0-9]+ bytes/),
      });
    });
  });

  test("cuts what the service says only where nothing of its key is left", async () => {
    const { client, state } = await setUp({ key: "key_that_is_long_enough" });
    for (let before = 270; before <= 300; before += 1) {
      const message = `${"x".repeat(before)}key_that_is_long_enough`;
      state.interludes = [
        (_, response) => response.writeHead(401).end(JSON.stringify({ error: "no", message })),
      ];
      const told = (await failure(client.me())).message;
      expect(told).toContain("xxx");
      expect(told).not.toContain("xk");
    }
  });

  test("repeats neither its key nor megabytes of what the service says", async () => {
    const { client, state } = await setUp({ key: "key_that_is_long_enough" });
    const said = `you sent "key_that_is_long_enough" (${encodeURIComponent("key_that_is_long_enough")})`;
    state.interludes = [said, said + "x".repeat(1_000_000)].map((message) => (_, response) => {
      response.writeHead(401).end(JSON.stringify({ error: message, message }));
    });
    for (let asked = 0; asked < 2; asked += 1) {
      const { message } = await failure(client.me());
      expect(message).toContain('you sent "[redacted]" ([redacted])');
      expect(message).not.toContain("key_that");
      expect(message.length).toBeLessThan(700);
    }
  });

  test("takes in no answer beyond 32 MB", async () => {
    const { client, state } = await setUp();
    const piece = Buffer.alloc(1_048_576, " ");
    const closed: Promise<unknown>[] = [];
    state.interludes = Array.from({ length: 4 }, () => (_, response) => {
      closed.push(once(response, "close"));
      const more = (): void => {
        while (!response.destroyed && response.write(piece));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    });
    expect(await failure(client.me())).toMatchObject({
      message: expect.stringContaining("exceeded max size"),
    });
    await Promise.all(closed);
  });

  test("tells how far the clocks are apart", async () => {
    const { client, state } = await setUp();
    expect(Math.abs((await client.clockSkewMs()) ?? Number.NaN)).toBeLessThan(30_000);
    const theirs = new Date(Date.now() + 3_600_000).toUTCString();
    state.interludes = [(_, response) => response.writeHead(200, { date: theirs }).end("{}")];
    expect(Math.abs(((await client.clockSkewMs()) ?? 0) - 3_600_000)).toBeLessThan(30_000);
  });
});
