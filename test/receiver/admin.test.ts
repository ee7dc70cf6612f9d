import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import type { Engine } from "../../receiver/engine.ts";
import { sampleVoicemail } from "../../shared/samples.ts";
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

describe("each port", () => {
  const busy = (real: Engine): Engine => {
    const probe: Engine["intake"]["probe"] = async () => ({ ok: false, reason: "busy", detail: "held" });
    return { ...real, intake: { ...real.intake, probe } };
  };

  test.each([
    ["ready", 200, "ok", (real: Engine) => real],
    ["not_ready", 503, "busy", busy],
  ])(
    "says that it is %s, with what it looked at, and lives all the same",
    async (status, code, database, wrapEngine) => {
      const { url, adminUrl, logLines } = await startTestReceiver({ wrapEngine });
      for (const at of [new URL(url).origin, adminUrl]) {
        const answer = await get(`${at}/readyz`);
        expect([answer.status, await answer.json()]).toEqual([
          code,
          { status, checks: { database, disk: "ok", draining: "ok" } },
        ]);
        const head = await fetch(`${at}/readyz`, { method: "HEAD" });
        expect([head.status, await head.text()]).toEqual([code, ""]);
        const live = await get(`${at}/healthz`);
        expect([live.status, await live.json()]).toEqual([200, { status: "ok" }]);
      }
      const told = logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
      const troubles = told.filter(({ level }) => level === "error");
      expect(troubles.map(({ reason, detail }) => [reason, detail])).toEqual(
        code === 200 ? [] : [["busy", "held"]],
      );
      for (const path of ["/healthz", "/readyz"]) {
        const posted = await fetch(new URL(path, url), { method: "POST", body: "{}" });
        expect([posted.status, posted.headers.get("allow"), await posted.json()]).toEqual([
          405,
          "GET, HEAD",
          { error: "method_not_allowed", message: "Ask with GET." },
        ]);
      }
    },
  );

  test("says in JSON what there is where there is nothing", async () => {
    const { url, adminUrl, logLines } = await startTestReceiver();
    const lost = await get(new URL("/nothing?key=1", url));
    expect([lost.status, await lost.json()]).toEqual([
      404,
      { error: "not_found", message: "Send events to /webhooks." },
    ]);
    expect(JSON.parse(logLines.at(-1)!)).toMatchObject({
      level: "warn",
      method: "GET",
      path: "/nothing",
      status: 404,
    });
    for (const [path, message] of [
      ["/nothing", "There are /, /metrics, /healthz, /readyz, /inbox and /inbox/{event_id}."],
      ["/inbox/evt_1", "No event evt_1 was accepted here."],
    ] as const) {
      const answer = await get(adminUrl + path);
      expect([answer.status, await answer.json()]).toEqual([404, { error: "not_found", message }]);
    }
  });
});

const FORM = "application/x-www-form-urlencoded";
test.each<[string, number, { path: string; type?: string; body?: string }]>([
  ["a path that is no UTF-8", 400, { path: "/inbox/%E0%A4%A" }],
  ["a form in no known charset", 415, { path: "/requeue", type: `${FORM}; charset=none`, body: "a=1" }],
  ["a form without end", 413, { path: "/requeue", type: FORM, body: "a=1&".repeat(1_001) }],
])("%s is the client's mistake, a %d, and no error of ours", async (_, status, { path, type, body }) => {
  const { adminUrl, logLines } = await startTestReceiver();
  logLines.length = 0;
  const form = {
    method: "POST",
    headers: { "content-type": type ?? "", origin: adminUrl },
    body: body ?? "",
  };
  const answer = await fetch(adminUrl + path, body === undefined ? {} : form);
  expect([answer.status, await answer.json()]).toEqual([
    status,
    { error: "invalid_request", message: expect.any(String) },
  ]);
  expect(logLines.filter((line) => line.includes('"error"'))).toEqual([]);
});

test("an inbox that cannot be asked is a 500 with a line that says why, and the metrics go on without it", async () => {
  const list = (): Promise<never> => Promise.reject(new Error("the disk is gone"));
  const { adminUrl, logLines } = await startTestReceiver({
    wrapEngine: (real) => ({ ...real, ledger: { ...real.ledger, list, counts: list } }),
  });
  for (const path of ["/inbox", "/events", "/"]) {
    logLines.length = 0;
    const answer = await get(adminUrl + path);
    expect([answer.status, await answer.json()]).toEqual([
      500,
      { error: "server_error", message: "The receiver failed. Its log says why." },
    ]);
    expect(logLines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({
        level: "error",
        err: expect.objectContaining({ message: "the disk is gone" }),
      }),
    ]);
  }
  const metrics = await get(`${adminUrl}/metrics`);
  expect([metrics.status, metrics.headers.get("content-type")]).toEqual([
    200,
    expect.stringMatching(/^text\/plain; version=/),
  ]);
});

test("a scrape is answered in time, without the inbox, while that does not answer", async () => {
  const { adminUrl } = await startTestReceiver({
    // Whatever takes five seconds is over at once.
    clock: {
      ...systemClock,
      sleep: async (ms, end) => (ms === 5_000 ? undefined : systemClock.sleep(ms, end)),
    },
    wrapEngine: (real) => ({
      ...real,
      ledger: { ...real.ledger, counts: () => Promise.withResolvers<never>().promise },
    }),
  });
  const metrics = await (await get(`${adminUrl}/metrics`)).text();
  expect(metrics).toContain("receiver_acknowledgement_seconds");
  expect(metrics).not.toMatch(/^receiver_inbox_events\{/m);
});

test("while a receiver stops its admin port tells how far it is, until nothing runs any more", async () => {
  const [stored, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { url, adminUrl, stop } = await startTestReceiver({
    wrapEngine: (real) => {
      const accept: Engine["intake"]["accept"] = async (batch) => {
        if (batch.length > 0) {
          asked.resolve();
          await stored.promise;
        }
        return real.intake.accept(batch);
      };
      return { ...real, intake: { ...real.intake, accept } };
    },
  });
  const body = newBody();
  const posted = post(url, body);
  await asked.promise;
  const stopped = stop();
  const ready = await get(`${adminUrl}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { status: "not_ready", checks: { database: "ok", disk: "ok", draining: "shutting down" } },
  ]);
  expect((await get(`${adminUrl}/metrics`)).status).toBe(200);
  expect((await get(`${adminUrl}/inbox`)).status).toBe(200);
  stored.resolve();
  const answer = await posted;
  expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
  await stopped;
  await expect(get(`${adminUrl}/readyz`)).rejects.toThrow("fetch failed");
});

test("a list has fifty events unless it is asked for another number, from 1 to 1,000", async () => {
  const asked: unknown[] = [];
  const { adminUrl } = await startTestReceiver({
    wrapEngine: (real) => {
      const list: Engine["ledger"]["list"] = async (...given) => {
        asked.push(given);
        return [];
      };
      return { ...real, ledger: { ...real.ledger, list } };
    },
  });
  for (const [query, limit] of [
    ["", 50],
    ["limit=1", 1],
    ["limit=1000", 1_000],
    ["limit=0", 400],
    ["limit=1001", 400],
    ["limit=1.5", 400],
    ["limit=ten", 400],
    ["before_seq=0", 400],
  ] as const) {
    asked.length = 0;
    const answer = await get(`${adminUrl}/inbox?${query}`);
    const message = expect.stringMatching(new RegExp(`^${query.split("=")[0] ?? ""}: `));
    expect([answer.status, await answer.json(), asked]).toEqual(
      limit === 400
        ? [400, { error: "invalid_request", message }, []]
        : [200, { object: "list", data: [], has_more: false }, [[{}, { limit, beforeSeq: undefined }]]],
    );
  }
  await get(`${adminUrl}/inbox?state=dead&type=t&handler=h&limit=7&before_seq=9`);
  expect(asked).toEqual([
    [
      { state: "dead", type: "t", handler: "h" },
      { limit: 7, beforeSeq: 9 },
    ],
  ]);
});

test.each([
  ["true", true],
  ["false", false],
  ["", false],
])("with ADMIN_SHOW_BODIES=%s the page shows envelopes whole: %o", async (setting, isWhole) => {
  const { url, adminUrl } = await startTestReceiver({ environment: { ADMIN_SHOW_BODIES: setting } });
  const body = newBody("voicemail.created");
  await post(url, body);
  const page = await (await get(`${adminUrl}/events/${idOf(body)}`)).text();
  expect(page.includes(sampleVoicemail.customer_name)).toBe(isWhole);
  expect(page.includes("ADMIN_SHOW_BODIES=true shows all of it")).toBe(!isWhole);
});

test.each([
  ["dana", "dana"],
  ["", "unnamed"],
  [undefined, "unnamed"],
  ["x".repeat(65), "x".repeat(64)],
])("who requeues as %o stands in the log as %o, with what was asked", async (name, operator) => {
  const token = "whoever-has-this-may";
  const { adminUrl, logLines } = await startTestReceiver({ environment: { ADMIN_TOKEN: token } });
  const basic = Buffer.from(`${name ?? ""}:${token}`).toString("base64");
  const answer = await fetch(`${adminUrl}/requeue`, {
    method: "POST",
    headers: { authorization: name === undefined ? `Bearer ${token}` : `Basic ${basic}` },
    body: new URLSearchParams({ id: newEventId(), handler: "pos", confirmed: "yes" }),
  });
  expect(answer.status).toBe(200);
  const { time: _, ...line } = JSON.parse(logLines.at(-1)!) as Record<string, unknown>;
  expect(line).toEqual({
    level: "warn",
    operator,
    requeued: 0,
    handler: "pos",
    ids: 1,
    msg: "an operator requeued events",
  });
});

test("an address with colons is told in brackets, of both ports", async (context) => {
  const isThere = Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === "::1"));
  context.skip(!isThere, "This machine has no ::1.");
  const receiver = await startTestReceiver({ environment: { HOST: "::1", ADMIN_HOST: "::1" } });
  for (const url of [receiver.url, receiver.adminUrl]) {
    expect(url).toMatch(/^http:\/\/\[::1\]:\d+/);
    expect((await get(new URL("/healthz", url))).status).toBe(200);
  }
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
