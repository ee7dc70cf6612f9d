import { describe, expect, test } from "vitest";
import { type ApiFaultPlan, createApiFaults, parseApiFaults } from "../../../simulator/api/faults.ts";
import { RESTAURANT, SERVICES, walkCalls } from "../world/test-world.ts";
import { startApi } from "./test-api.ts";

function planOf(text: string): ApiFaultPlan {
  const parsed = parseApiFaults(text);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.plan;
}

async function startFaultyApi(text: string, options: { seed?: number; calls?: number } = {}) {
  const waited: number[] = [];
  const api = await startApi({
    calls: options.calls ?? 120,
    faults: (world) =>
      createApiFaults({
        plan: planOf(text),
        seed: options.seed ?? 1,
        wait: async (ms) => void waited.push(ms),
        nowMs: Date.now,
        forget: (orgId, id) => void world.forget(orgId, id),
        review: (orgId) => void world.review(orgId),
        arrive: (orgId) => void world.happen("call.completed", { orgId }),
      }),
  });
  return { ...api, waited };
}

describe("--api-faults", () => {
  test("reads what it documents", () => {
    const none = {
      latencyMs: [0, 0],
      errors: 0,
      lostCursor: 0,
      arrivals: 0,
      throttle: 0,
      reviews: 0,
      deprecation: false,
    };
    expect(planOf("throttle=50%,reviews=2,deprecation")).toEqual({
      ...none,
      throttle: 0.5,
      reviews: 2,
      deprecation: true,
    });
    expect(planOf("latency=200,errors=0.1,lost-cursor,arrivals")).toEqual({
      ...none,
      latencyMs: [200, 200],
      errors: 0.1,
      lostCursor: 0.1,
      arrivals: 1,
    });
    expect(planOf("latency=50-400, errors=10%")).toEqual({ ...none, latencyMs: [50, 400], errors: 0.1 });
    expect(planOf("lost-cursor=1,arrivals=3")).toEqual({ ...none, lostCursor: 1, arrivals: 3 });
  });

  test.each([
    [
      "",
      /There is no API fault ""\. There are latency, errors, lost-cursor, arrivals, throttle, reviews, deprecation\./,
    ],
    ["latncy=5", /There is no API fault "latncy"\. Did you mean "latency"\?/],
    ["latency", /"latency" does not fit latency=MS or latency=FROM-TO/],
    ["latency=fast", /"latency=fast" does not fit/],
    ["latency=400-50", /does not fit/],
    ["errors", /"errors" does not fit errors=RATE/],
    ["errors=1.5", /does not fit/],
    ["errors=200%", /does not fit/],
    ["errors=-1", /does not fit/],
    ["lost-cursor=often", /does not fit lost-cursor/],
    ["arrivals=1000000", /does not fit arrivals/],
  ])("teaches what is wrong with %j", (text, message) => {
    expect(parseApiFaults(text)).toEqual({ ok: false, message: expect.stringMatching(message) });
  });

  test("throttle answers 429 with Retry-After, as often as asked", async () => {
    const { get } = await startFaultyApi("throttle=0.5");
    const answers = await Promise.all(Array.from({ length: 60 }, () => get("/api/v1/agents")));
    const throttled = answers.filter(({ status }) => status === 429);
    expect(throttled.length).toBeGreaterThan(10);
    expect(throttled.length).toBeLessThan(50);
    expect(throttled[0]?.body["error"]).toBe("rate_limited");
    expect(throttled[0]?.headers.get("retry-after")).toBe("1");
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60 - throttled.length);
  });

  test("reviews review and note unread voicemails while a client polls, some before each answer", async () => {
    const { get } = await startFaultyApi("reviews=2", { calls: 400 });
    const poll = async () => (await get("/api/v1/voicemails?limit=100")).body.data;
    const before = await poll();
    const unread = before.filter((voicemail) => voicemail["reviewed"] === false).map(({ id }) => id);
    const stateAt = async () => {
      const now = await poll();
      return unread
        .slice(0, 4)
        .map((id) => now.find((voicemail) => voicemail.id === id))
        .map((voicemail) => [
          voicemail?.["reviewed"],
          voicemail?.["callback_made"],
          voicemail?.["notes"] !== null,
        ]);
    };
    const [done, open] = [
      [true, true, true],
      [false, false, false],
    ];
    expect(await stateAt()).toEqual([done, done, open, open]);
    expect(await stateAt()).toEqual([done, done, done, done]);
  });

  test.each([
    ["deprecation", "/api/v1/me", 200],
    ["deprecation", "/api/v1/calls", 200],
    ["deprecation", "/api/v1/calls?limit=0", 400],
    ["deprecation,errors=1", "/api/v1/me", 500],
    ["deprecation,throttle=1", "/api/v1/agents", 429],
  ])("%s announces the end of this version, 90 days ahead: %s, %i", async (trouble, path, status) => {
    const { get } = await startFaultyApi(trouble);
    const answer = await get(path);
    const atSeconds = Number(/^@(\d+)$/.exec(answer.headers.get("deprecation") ?? "")?.[1]);
    const sunset = answer.headers.get("sunset") ?? "";
    // An HTTP date, as RFC 8594 has it.
    expect([answer.status, new Date(sunset).toUTCString()]).toEqual([status, sunset]);
    expect(Math.round((Date.parse(sunset) - atSeconds * 1000) / 86_400_000)).toBe(90);
    expect(answer.headers.get("link")).toBe('</api/v2>; rel="successor-version"');
  });

  test("without deprecation nothing of it is announced", async () => {
    const { get: plain } = await startFaultyApi("errors=0");
    expect((await plain("/api/v1/me")).headers.get("sunset")).toBeNull();
  });

  test("a key without the scope read may ask what it is good for, and nothing else", async () => {
    const { get } = await startApi();
    const key = "va_test_restaurant_no_scope";
    expect((await get("/api/v1/me", { key })).body["api_scopes"]).toEqual([]);
    for (const path of ["/api/v1/agents", "/api/v1/calls", "/api/v1/voicemails"]) {
      expect(await get(path, { key })).toMatchObject({ status: 403, body: { error: "insufficient_scope" } });
    }
    expect((await get("/api/v1/me", { key: "va_test_revoked" })).status).toBe(401);
    expect((await get("/api/v1/me", { key: "_no_scope" })).status).toBe(401);
  });

  test("latency holds up every answer", async () => {
    const { get, waited } = await startFaultyApi("latency=50-400");
    for (let request = 0; request < 20; request += 1) expect((await get("/api/v1/me")).status).toBe(200);
    expect(waited).toHaveLength(20);
    expect(waited.every((ms) => ms >= 50 && ms <= 400)).toBe(true);
    expect(new Set(waited).size).toBeGreaterThan(5);
  });

  test("latency holds up those that fail or are throttled, too", async () => {
    for (const [trouble, status] of [
      ["errors=1", 500],
      ["throttle=1", 429],
    ] as const) {
      const { get, waited } = await startFaultyApi(`latency=50,${trouble}`);
      expect((await get("/api/v1/me")).status).toBe(status);
      expect(waited).toEqual([50]);
    }
  });

  test("errors are 500 server_error as specified, as often as asked, the same for a seed", async () => {
    const statuses = async (seed: number) => {
      const { get } = await startFaultyApi("errors=0.3", { seed });
      const all: number[] = [];
      for (let request = 0; request < 100; request += 1) {
        all.push((await get("/api/v1/agents")).status);
      }
      return all;
    };
    const first = await statuses(1);
    expect(first.filter((status) => status === 500).length).toBeGreaterThan(15);
    expect(first.filter((status) => status === 500).length).toBeLessThan(50);
    expect(await statuses(1)).toEqual(first);
    expect(await statuses(2)).not.toEqual(first);
    expect((await (await startFaultyApi("errors=1")).get("/api/v1/me")).body).toEqual({
      error: "server_error",
      message: expect.any(String),
    });
  });

  test("a wrong key is a wrong key, faults or not", async () => {
    const { get } = await startFaultyApi("errors=1");
    expect((await get("/api/v1/me", { key: "wrong" })).status).toBe(401);
  });

  test("a lost cursor is refused, its item is gone, and a walk begun anew gets through", async () => {
    const { get, world } = await startFaultyApi("lost-cursor=0.2", { calls: 400 });
    const lost: string[] = [];
    const refusals: unknown[] = [];
    let seen: unknown[] = [];
    for (let cursor: string | undefined; ;) {
      const after = cursor === undefined ? "" : `&starting_after=${cursor}`;
      const { status, body } = await get(`/api/v1/calls?limit=10${after}`);
      if (status === 400) {
        lost.push(cursor ?? "");
        refusals.push(body);
        [cursor, seen] = [undefined, []];
        continue;
      }
      seen.push(...body.data);
      if (body.has_more === false) break;
      cursor = body.data.at(-1)?.id;
    }
    expect(lost.length).toBeGreaterThan(0);
    expect(lost.map((id) => world.findCall(id))).toEqual(lost.map(() => undefined));
    expect(refusals).toEqual(
      lost.map((id) => ({ error: "invalid_cursor", message: expect.stringContaining(id) })),
    );
    expect(seen).toEqual(walkCalls(world, RESTAURANT));
    expect(seen).toHaveLength(200 - lost.length);
  });

  test("lost-cursor deletes nothing of another organization", async () => {
    const { get, world } = await startFaultyApi("lost-cursor=1", { calls: 400 });
    const page = world.calls(SERVICES, { limit: 1 });
    const foreign = String(page.ok && page.data[0]?.["id"]);
    expect((await get(`/api/v1/calls?starting_after=${foreign}`)).status).toBe(400);
    expect(world.findCall(foreign)).toBeDefined();
  });

  test("arrivals come in between the pages, and a walk still gives every older call once", async () => {
    const { get, world } = await startFaultyApi("arrivals=2");
    const before = walkCalls(world, RESTAURANT);
    const seen: unknown[] = [];
    let pages = 0;
    for (let cursor = ""; ; pages += 1) {
      const { body } = await get(`/api/v1/calls?limit=10${cursor}`);
      seen.push(...body.data);
      if (body.has_more === false) break;
      cursor = `&starting_after=${body.data.at(-1)?.id}`;
    }
    expect(seen).toEqual(before);
    expect(walkCalls(world, RESTAURANT)).toHaveLength(before.length + 2 * pages);
  });
});
