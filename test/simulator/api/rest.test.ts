import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  agentSchema,
  callSchema,
  listSchema,
  organizationSchema,
  voicemailSchema,
} from "../../../shared/events.ts";
import { happen, RESTAURANT, SERVICES, walkCalls, walkVoicemails } from "../world/test-world.ts";
import { startApi } from "./test-api.ts";

const PATHS = ["/me", "/agents", "/calls", "/voicemails"];

describe("the API key", () => {
  test.each(PATHS)("is required by %s", async (path) => {
    const { get } = await startApi();
    for (const key of [null, "", "va_test_restauran", "va_test_restaurantx", "VA_TEST_RESTAURANT"]) {
      const { status, body, headers } = await get(`/api/v1${path}`, { key });
      expect(status).toBe(401);
      expect(body).toEqual({
        error: "unauthorized",
        message: expect.stringContaining("Authorization: Bearer <API_KEY>"),
      });
      expect(headers.get("www-authenticate")).toBe("Bearer");
    }
    expect(await get(`/api/v1${path}`)).toMatchObject({ status: 200 });
  });

  test("that is missing is distinguished from a wrong one", async () => {
    const { get } = await startApi();
    const messageTo = async (key: string | null) => (await get("/api/v1/me", { key })).body;
    expect(await messageTo(null)).toMatchObject({
      message: expect.stringMatching(/^The API key is missing\./),
    });
    expect(await messageTo("va_test_x")).toMatchObject({
      message: expect.stringMatching(/^The API key is not valid\./),
    });
  });

  test("is only accepted as a bearer token, with the scheme in any case", async () => {
    const { raw } = await startApi();
    const status = async (...lines: string[]) =>
      (await raw("/api/v1/me", ["Host", "localhost", ...lines.flatMap((line) => ["Authorization", line])]))
        .status;
    expect(await status("Bearer va_test_restaurant")).toBe(200);
    expect(await status("bearer va_test_restaurant")).toBe(200);
    expect(await status("va_test_restaurant")).toBe(401);
    expect(await status("Basic va_test_restaurant")).toBe(401);
    expect(await status("Bearer va_test_restaurant va_test_services")).toBe(401);
    expect(await status("Bearer")).toBe(401);
  });

  test("without the scope read shows its owner, and nothing else", async () => {
    const { get } = await startApi();
    for (const path of PATHS) {
      const { status, body } = await get(`/api/v1${path}`, { key: "va_test_services_no_scope" });
      const isOwner = path === "/me";
      expect(status).toBe(isOwner ? 200 : 403);
      expect(body).toMatchObject(isOwner ? { api_scopes: [] } : { error: "insufficient_scope" });
    }
  });

  test.each(["agents", "calls", "voicemails"])(
    "decides whose %s are returned, even after another asked for the same",
    async (list) => {
      const { get } = await startApi();
      const idsOf = async (key: string) =>
        (await get(`/api/v1/${list}`, { key })).body.data.map(({ id }) => id);
      const restaurant = await idsOf("va_test_restaurant");
      const services = await idsOf("va_test_services");
      expect(restaurant.length * services.length).toBeGreaterThan(0);
      expect(services.filter((id) => restaurant.includes(id))).toEqual([]);
      expect(await idsOf("va_test_restaurant")).toEqual(restaurant);
    },
  );
});

describe("the four endpoints", () => {
  test("answer the resources of the specification", async () => {
    const { get } = await startApi();
    organizationSchema.parse((await get("/api/v1/me")).body);
    listSchema(agentSchema).parse((await get("/api/v1/agents")).body);
    listSchema(callSchema)
      .required({ has_more: true })
      .parse((await get("/api/v1/calls")).body);
    listSchema(voicemailSchema)
      .required({ has_more: true })
      .parse((await get("/api/v1/voicemails")).body);
    expect((await get("/api/v1/me")).body).toMatchObject({ id: RESTAURANT, api_scopes: ["read"] });
    expect((await get("/api/v1/me", { key: "va_test_services" })).body).toMatchObject({ id: SERVICES });
    expect((await get("/api/v1/me")).headers.get("content-type")).toBe("application/json; charset=utf-8");
  });

  test("give 25 items unless asked for another number up to 100", async () => {
    const { get } = await startApi({ calls: 600 });
    const count = async (query: string) => (await get(`/api/v1/calls${query}`)).body.data.length;
    expect(await count("")).toBe(25);
    expect(await count("?limit=1")).toBe(1);
    expect(await count("?limit=100")).toBe(100);
    expect(await count("?unknown=1&limit=2")).toBe(2);
  });

  test("filter calls by outcome and voicemails by reviewed", async () => {
    const { get, world } = await startApi({ calls: 600 });
    for (const outcome of ["completed", "transferred", "voicemail"]) {
      const { data } = (await get(`/api/v1/calls?limit=100&outcome=${outcome}`)).body;
      expect(data).toEqual(walkCalls(world, RESTAURANT, { outcome }).slice(0, 100));
      expect(data.length).toBeGreaterThan(5);
    }
    for (const reviewed of [true, false]) {
      const { data } = (await get(`/api/v1/voicemails?limit=100&reviewed=${reviewed}`)).body;
      expect(data).toEqual(walkVoicemails(world, RESTAURANT, reviewed).slice(0, 100));
      expect(new Set(data.map((voicemail) => voicemail["reviewed"]))).toEqual(new Set([reviewed]));
    }
  });

  test("return every item once when read to the end by cursor, for any page size", async () => {
    const { get, world } = await startApi({ calls: 120 });
    const all = walkCalls(world, RESTAURANT);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 5, max: 100 }), async (limit) => {
        const seen: unknown[] = [];
        let cursor = "";
        for (;;) {
          const { status, body } = await get(`/api/v1/calls?limit=${limit}${cursor}`);
          expect(status).toBe(200);
          seen.push(...body.data);
          if (body.has_more === false) break;
          cursor = `&starting_after=${body.data.at(-1)?.id}`;
        }
        expect(seen).toEqual(all);
      }),
      { numRuns: 15 },
    );
  });

  test("end with an empty page after the last item, and when there is nothing", async () => {
    const { get, world } = await startApi({ calls: 4 });
    const last = walkCalls(world, RESTAURANT).at(-1)?.["id"];
    const empty = { object: "list", data: [], has_more: false };
    expect((await get(`/api/v1/calls?starting_after=${String(last)}`)).body).toEqual(empty);
    expect((await (await startApi({ calls: 0 })).get("/api/v1/voicemails")).body).toEqual(empty);
  });

  test.each(["calls", "voicemails"])(
    "refuse an unknown cursor or that of another organization: %s",
    async (list) => {
      const { get } = await startApi();
      const foreign = (await get(`/api/v1/${list}?limit=1`, { key: "va_test_services" })).body.data[0]!.id;
      for (const id of [foreign, "call_nothere", "", "%F0%9F%8D%95", "x".repeat(2_000)]) {
        const { status, body } = await get(`/api/v1/${list}?starting_after=${id}`);
        expect(status).toBe(400);
        expect(body).toEqual({
          error: "invalid_cursor",
          message: expect.stringContaining(decodeURIComponent(id)),
        });
      }
    },
  );

  test("show new events at once", async () => {
    const { get, world } = await startApi();
    const { object, call } = happen(world, "voicemail.created", { object: { notes: "From a test." } });
    expect((await get("/api/v1/voicemails?limit=1")).body.data[0]).toEqual(object);
    expect((await get("/api/v1/calls?limit=1")).body.data[0]).toEqual(call);
  });

  test.each(["limit", "starting_after", "outcome"])("refuse %s given twice", async (name) => {
    const { get } = await startApi();
    const { status, body } = await get(`/api/v1/calls?${name}=1&${name}=1`);
    expect([status, body]).toEqual([
      400,
      { error: "invalid_request", message: `${name} is given 2 times; give it once.` },
    ]);
  });
});

describe("other requests", () => {
  test.each(["", "/", "/unknown", "/calls/", "/Calls", "/me/x", "/%E0", "/calls/call_1", "//calls"])(
    "/api/v1%s is not found, in JSON",
    async (path) => {
      const { get } = await startApi();
      const { status, body } = await get(`/api/v1${path}`);
      expect([status, body]).toEqual([404, { error: "not_found", message: expect.any(String) }]);
    },
  );

  test.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])("%s is not allowed", async (method) => {
    const { get } = await startApi();
    const { status, body, headers } = await get("/api/v1/calls", { method });
    expect(status).toBe(405);
    expect(headers.get("allow")).toBe("GET, HEAD");
    expect(body).toEqual({ error: "method_not_allowed", message: expect.stringContaining(method) });
  });

  test("HEAD answers as GET does, without the body", async () => {
    const { get } = await startApi();
    const [head, full] = [await get("/api/v1/calls", { method: "HEAD" }), await get("/api/v1/calls")];
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers.get("content-length")).toBe(full.headers.get("content-length"));
    expect((await get("/api/v1/calls", { method: "HEAD", key: null })).status).toBe(401);
  });

  test("an internal failure is a server_error without details, and is reported", async () => {
    const errors: unknown[] = [];
    const { get, database } = await startApi({ onError: (error) => errors.push(error) });
    database.close();
    const { status, body } = await get("/api/v1/calls");
    expect(status).toBe(500);
    expect(body).toEqual({
      error: "server_error",
      message: expect.not.stringMatching(/database|sqlite|\bat /i),
    });
    expect(errors).toEqual([expect.any(Error)]);
  });
});
