import { describe, expect, test } from "vitest";
import { startApi } from "./test-api.ts";

describe("the readings of the REST API", () => {
  const refused = (start: string) => ({ error: "invalid_request", message: expect.stringMatching(start) });

  test.each(["0", "-1", "101", "99999999999999999999999"])("limit_out_of_range: limit=%s", async (limit) => {
    const path = `/api/v1/calls?limit=${limit}`;
    const rejecting = await startApi({ calls: 400 });
    expect(await rejecting.get(path)).toMatchObject({
      status: 400,
      body: refused("^limit must be a whole number from 1"),
    });
    const clamping = await startApi({ calls: 400, readings: { limit_out_of_range: "clamp" } });
    const { status, body } = await clamping.get(path);
    expect([status, body.data.length]).toEqual([200, Number(limit) < 1 ? 1 : 100]);
  });

  test.each(["", "abc", "2.5", "1e1", "%2B5", "0x10", "5%20", "NaN"])(
    "limit_not_a_number: limit=%s",
    async (limit) => {
      const path = `/api/v1/calls?limit=${limit}`;
      const rejecting = await startApi();
      expect(await rejecting.get(path)).toMatchObject({
        status: 400,
        body: refused("^limit must be a whole number"),
      });
      const lenient = await startApi({ readings: { limit_not_a_number: "default" } });
      const { status, body } = await lenient.get(path);
      expect([status, body.data.length]).toEqual([200, 25]);
    },
  );

  test.each(["no_answer", "", "Completed", "completed,voicemail"])(
    "unknown_outcome: outcome=%s",
    async (outcome) => {
      const path = `/api/v1/calls?outcome=${outcome}`;
      const { status, body } = await (await startApi()).get(path);
      expect([status, body]).toEqual([200, { object: "list", data: [], has_more: false }]);
      const rejecting = await startApi({ readings: { unknown_outcome: "reject" } });
      expect(await rejecting.get(path)).toMatchObject({
        status: 400,
        body: refused("^outcome must be one of completed"),
      });
      expect(await rejecting.get("/api/v1/calls?outcome=voicemail")).toMatchObject({ status: 200 });
    },
  );

  test.each(["", "yes", "TRUE", "1", "true%20"])("invalid_reviewed: reviewed=%s", async (reviewed) => {
    const path = `/api/v1/voicemails?reviewed=${reviewed}`;
    expect(await (await startApi()).get(path)).toMatchObject({
      status: 400,
      body: refused("^reviewed must be true or"),
    });
    const ignoring = await startApi({ readings: { invalid_reviewed: "ignore" } });
    expect((await ignoring.get(path)).body).toEqual((await ignoring.get("/api/v1/voicemails")).body);
  });

  test("agents_has_more", async () => {
    expect(Object.keys((await (await startApi()).get("/api/v1/agents")).body)).toEqual(["object", "data"]);
    const present = await startApi({ readings: { agents_has_more: "present" } });
    expect((await present.get("/api/v1/agents")).body.has_more).toBe(false);
  });

  test.each(["calls", "voicemails"])("single_item_paths: %s", async (list) => {
    const absent = await startApi();
    const item = (await absent.get(`/api/v1/${list}?limit=1`)).body.data[0]!;
    expect(await absent.get(`/api/v1/${list}/${item.id}`)).toMatchObject({
      status: 404,
      body: { error: "not_found" },
    });
    expect(await absent.get(`/api/v1/${list}/${item.id}`, { method: "POST" })).toMatchObject({ status: 404 });

    const present = await startApi({ readings: { single_item_paths: "present" } });
    expect(await present.get(`/api/v1/${list}/${item.id}`)).toMatchObject({ status: 200, body: item });
    expect(await present.get(`/api/v1/${list}/${item.id}`, { key: null })).toMatchObject({ status: 401 });
    expect(await present.get(`/api/v1/${list}/${item.id}`, { method: "POST" })).toMatchObject({
      status: 405,
    });
    for (const [path, key] of [[`${list}/nothing`], [`${list}/${item.id}`, "va_test_services"]] as const) {
      const { status, body } = await present.get(`/api/v1/${path}`, key === undefined ? {} : { key });
      expect([status, body["error"]]).toEqual([404, "not_found"]);
      expect(body.message).toMatch(/^(Call|Voicemail) \S+ was not found\.$/);
    }
  });
});
