import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { get, idOf, newBody, newEventId, post, signatureFor } from "./helpers/events.ts";
import { rawRequest, sendRaw } from "./helpers/raw.ts";
import { startTestReceiver, useReceiver } from "./helpers/receiver.ts";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("the admin port", () => {
  const receiver = useReceiver();

  test("shows one event, with what a checker wants to know", async () => {
    const { url, adminUrl } = receiver();
    const body = newBody();
    await post(url, body);
    await post(url, body);
    expect(await (await get(`${adminUrl}/inbox/${idOf(body)}`)).json()).toEqual({
      id: idOf(body),
      type: "call.completed",
      state: "pending",
      attempts: 0,
      handled: 0,
      duplicates: 1,
      source: "webhook",
      received_at: expect.stringMatching(/^\d{4}-.*Z$/),
      finished_at: null,
      next_attempt_at: expect.any(String),
      last_error: null,
      jobs: [],
      seq: expect.any(Number),
    });
  });

  test("lists by state and page, and says what is wrong with a question", async () => {
    const { url, adminUrl } = receiver();
    for (let sent = 0; sent < 3; sent += 1) await post(url, newBody());
    const list = (await (await get(`${adminUrl}/inbox?state=pending&limit=2`)).json()) as {
      has_more: boolean;
      data: { seq: number }[];
    };
    expect(list).toMatchObject({ object: "list", has_more: true });
    expect(list.data).toHaveLength(2);
    const next = (await (
      await get(`${adminUrl}/inbox?before_seq=${String(list.data[1]!.seq)}`)
    ).json()) as typeof list;
    expect(next.data[0]!.seq).toBeLessThan(list.data[1]!.seq);
    for (const filter of ["state=dead", "type=order.created"])
      expect(await (await get(`${adminUrl}/inbox?${filter}`)).json()).toMatchObject({ data: [] });
    const wrong = await get(`${adminUrl}/inbox?state=lost`);
    expect(wrong.status).toBe(400);
    expect(await wrong.json()).toMatchObject({
      error: "invalid_request",
      message: expect.stringContaining("state"),
    });
    for (const path of [`/inbox/${newEventId()}`, "/inbox/x", "/nothing"]) {
      expect((await get(adminUrl + path)).status).toBe(404);
    }
  });

  test("answers only to its own names, so that no web page gets at it", async () => {
    const { adminUrl } = receiver();
    const ask = async (host: string) =>
      (await sendRaw(adminUrl, Buffer.from(`GET /inbox HTTP/1.1\r\nHost: ${host}\r\n\r\n`))).status;
    expect(await ask("localhost:1")).toBe(200);
    expect(await ask("127.0.0.1")).toBe(200);
    expect(await ask("evil.example")).toBe(403);
  });
});

describe("the admin port beyond loopback", () => {
  // A colon separates the name from it as well, and may be in it all the same.
  const TOKEN = "a-token:of:operators";
  const receiver = useReceiver({ environment: { ADMIN_HOST: "0.0.0.0", ADMIN_TOKEN: TOKEN } });
  const named = useReceiver({ environment: { ADMIN_HOST: "0.0.0.0", ADMIN_ALLOWED_HOSTS: "inner.example" } });

  async function ask(adminUrl: string, path: string, headers: Record<string, string>): Promise<number> {
    const lines = Object.entries({ Host: "anything.example", ...headers });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    return (await sendRaw(adminUrl, Buffer.from(`GET ${path} HTTP/1.1\r\n${head}\r\n`))).status;
  }

  test.each(["Bearer", "bearer", "BEARER", "Basic", "basic", "BASIC"])(
    "takes the token from the scheme however it is spelled: %s",
    async (scheme) => {
      const isBasic = scheme.toLowerCase() === "basic";
      const shown = isBasic ? Buffer.from(`name:${TOKEN}`).toString("base64") : TOKEN;
      expect(await ask(receiver().adminUrl, "/inbox", { authorization: `${scheme} ${shown}` })).toBe(200);
    },
  );

  test.each(["/inbox", "/metrics", `/inbox/${newEventId()}`, "/nothing"])(
    "shows %s to nobody without its token",
    async (path) => {
      const { adminUrl } = receiver();
      const wrong = [TOKEN.slice(0, -1), `${TOKEN}x`, TOKEN.toUpperCase(), "", "undefined"];
      for (const authorization of [...wrong.map((token) => `Bearer ${token}`), `Basic ${TOKEN}`, TOKEN])
        expect(await ask(adminUrl, path, { authorization })).toBe(401);
      expect(await ask(adminUrl, path, {})).toBe(401);
      expect(await ask(adminUrl, `${path}?token=${TOKEN}`, {})).toBe(401);
      const right = await fetch(adminUrl + path, { headers: { authorization: `Bearer ${TOKEN}` } });
      expect(right.status).toBe(path === "/inbox" || path === "/metrics" ? 200 : 404);
    },
  );

  test("takes the token as a browser's password, and the name for the log", async () => {
    const { adminUrl } = receiver();
    const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
    const status = async (authorization: string): Promise<number> =>
      (await fetch(adminUrl, { headers: { authorization } })).status;
    expect(await status(basic(`dana:${TOKEN}`))).toBe(200);
    for (const text of [TOKEN, `${TOKEN}:dana`, "dana:", `dana:${TOKEN}:`, `dana: ${TOKEN}`])
      expect(await status(basic(text))).toBe(401);
    const refused = await fetch(adminUrl);
    expect(refused.headers.get("www-authenticate")).toBe('Bearer, Basic realm="receiver", charset="UTF-8"');
  });

  test("tells everybody whether it lives and is ready", async () => {
    for (const { adminUrl } of [receiver(), named()]) {
      expect(await ask(adminUrl, "/healthz", {})).toBe(200);
      expect(await ask(adminUrl, "/readyz", {})).toBe(200);
    }
  });

  test("answers to the names that it was given, and to no other", async () => {
    const { adminUrl } = named();
    const status = async (host: string): Promise<number> => ask(adminUrl, "/inbox", { Host: host });
    expect(await status("inner.example:3001")).toBe(200);
    expect(await status("localhost")).toBe(200);
    for (const host of ["inner.example.evil", "xinner.example", "evil.example", ""])
      expect(await status(host)).toBe(403);
  });
});

describe("the metrics", () => {
  test("count what happened, by reason and by secret, without ids", async () => {
    const { url, adminUrl } = await startTestReceiver({
      environment: { SIGNING_SECRET: "new-secret,old-secret" },
    });
    const body = newBody("order.created");
    await post(url, body, signatureFor(body, { secret: "new-secret" }));
    await post(url, body, signatureFor(body, { secret: "old-secret" }));
    const unknown = newBody("order.created", { type: "made.up" });
    await post(url, unknown, signatureFor(unknown, { secret: "new-secret" }));
    await post(url, body, signatureFor(body, { secret: "wrong" }));
    await post(url, body, signatureFor(body, { secret: "new-secret", timestampSeconds: 1 }));
    const notEvent = Buffer.from("{}");
    await post(url, notEvent, signatureFor(notEvent, { secret: "new-secret" }));
    await sendRaw(url, rawRequest(url, { body, headers: [["Content-Encoding", "gzip"]] }));
    const metrics = await (await get(`${adminUrl}/metrics`)).text();
    for (const line of [
      'receiver_events_total{type="order.created",result="stored"} 1',
      'receiver_events_total{type="order.created",result="duplicate"} 1',
      'receiver_events_total{type="other",result="stored"} 1',
      'receiver_rejections_total{reason="no_match",class="refused"} 1',
      'receiver_rejections_total{reason="timestamp_too_old",class="refused"} 1',
      'receiver_rejections_total{reason="invalid_event",class="refused"} 1',
      'receiver_rejections_total{reason="encoding.unsupported",class="refused"} 1',
      'receiver_secret_matches_total{position="1"} 2',
      'receiver_secret_matches_total{position="2"} 1',
      'receiver_inbox_events{state="pending"} 2',
      'receiver_acknowledgement_seconds_count{result="stored"} 2',
    ]) {
      expect(metrics).toContain(line);
    }
    expect(metrics).toMatch(/receiver_oldest_unfinished_event_age_seconds \d/);
    expect(metrics).not.toContain(idOf(body));
  });

  test.for(["deploy/dashboard.json", "deploy/alerts.yaml"])("that %s asks for exist", async (file) => {
    const { adminUrl } = await startTestReceiver();
    const metrics = await (await get(`${adminUrl}/metrics`)).text();
    const asked = new Set(read(file).match(/\b(?:receiver|process|nodejs)_[a-z0-9_]+/g));
    expect(asked.size).toBeGreaterThan(5);
    const missing = [...asked].filter(
      (name) => !metrics.includes(`# TYPE ${name.replace(/_(bucket|sum|count)$/, "")} `),
    );
    expect(missing).toEqual([]);
  });
});
