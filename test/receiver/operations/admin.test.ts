import { request } from "undici";
import { expect, test } from "vitest";
import { standingClock } from "../helpers/clock.ts";
import { newEventId } from "../helpers/events.ts";
import { serveAdmin } from "./admin.ts";
import { dead, openInbox } from "./inbox.ts";

async function ask(url: string, headers: Record<string, string> = {}) {
  const { statusCode, headers: answered, body } = await request(url, { headers });
  const text = await body.text();
  return { status: statusCode, headers: answered, text, json: (): unknown => JSON.parse(text) };
}

test("an event shows its jobs, how often it was handled, and the last errors of each", async () => {
  const inbox = await openInbox();
  const { url } = await serveAdmin(inbox);
  const done = await inbox.handled({ kind: "done" });
  const failing = await inbox.handled({ kind: "failed", error: "HTTP 500", delayMs: 3_600_000 });
  const later = await inbox.handled({ kind: "later", error: "closed", delayMs: 7_200_000 });

  expect((await ask(`${url}/inbox/${done}`)).json()).toMatchObject({
    id: done,
    type: "call.completed",
    state: "done",
    attempts: 1,
    handled: 1,
    duplicates: 0,
    source: "webhook",
    received_at: expect.stringMatching(/^\d{4}-.*Z$/),
    next_attempt_at: null,
    jobs: [
      {
        handler: "log-call",
        state: "done",
        attempts: 1,
        handled: 1,
        last_error: null,
        next_attempt_at: null,
        errors: [],
      },
    ],
  });
  expect((await ask(`${url}/inbox/${done}`)).json()).not.toHaveProperty("deferred_until");
  expect((await ask(`${url}/inbox/${failing}`)).json()).toMatchObject({
    state: "waiting",
    handled: 0,
    jobs: [
      {
        state: "waiting",
        last_error: "HTTP 500",
        errors: [{ attempt: 1, error: "HTTP 500", at: expect.stringMatching(/Z$/) }],
      },
    ],
  });
  expect((await ask(`${url}/inbox/${later}`)).json()).toMatchObject({
    state: "waiting",
    deferred_until: expect.stringMatching(/Z$/),
    jobs: [{ deferred: true }],
  });
  expect((await ask(`${url}/inbox/${newEventId()}`)).status).toBe(404);
  for (const path of ["/inbox/maria", "/INBOX", "/Metrics"])
    expect((await ask(url + path)).json()).toMatchObject({ error: "not_found" });
});

test("the list is filtered and paged, newest first, without the history of errors", async () => {
  const inbox = await openInbox();
  const { url } = await serveAdmin(inbox);
  const first = await inbox.handled(dead("customer 123456 is unknown"));
  const second = await inbox.handled(dead("HTTP 500"));
  await inbox.handled({ kind: "done" });
  const unwanted = await inbox.stored({ type: "agent.created" });

  const ids = async (query: string): Promise<unknown> => {
    const { data } = (await ask(`${url}/inbox?${query}`)).json() as { data: { id: string; seq: number }[] };
    return data.map(({ id }) => id);
  };
  expect(await ids("state=dead")).toEqual([second, first]);
  expect(await ids("state=dead&limit=1")).toEqual([second]);
  expect(await ids(`state=dead&before_seq=2`)).toEqual([first]);
  expect(await ids("state=ignored")).toEqual([unwanted]);
  expect(await ids("handler=kitchen")).toEqual([]);
  expect(await ids(`state=dead&cause=${encodeURIComponent("customer <number> is unknown")}`)).toEqual([
    first,
  ]);
  const brief = (await ask(`${url}/inbox?state=dead&limit=1`)).json();
  expect(brief).toMatchObject({
    object: "list",
    has_more: true,
    data: [{ jobs: [{ last_error: "HTTP 500" }] }],
  });
  expect(JSON.stringify(brief)).not.toContain('"errors"');
  for (const wrong of ["state=lost", "limit=0", "limit=1001", "before_seq=x"])
    expect((await ask(`${url}/inbox?${wrong}`)).json()).toMatchObject({ error: "invalid_request" });
});

test("a type that a sender made up is not repeated", async () => {
  const inbox = await openInbox();
  const { url } = await serveAdmin(inbox);
  const id = await inbox.stored({ type: "Maria Lopez" });
  expect((await ask(`${url}/inbox/${id}`)).json()).toMatchObject({ type: "other" });
});

test("only names that are allowed are answered, in any case and with any port; health answers everyone", async () => {
  const { url } = await serveAdmin(await openInbox(), { adminAllowedHosts: ["receiver.internal", "[::1]"] });
  for (const host of ["receiver.internal", "RECEIVER.internal:3001", "[::1]:3001"])
    expect((await ask(`${url}/inbox`, { host })).status).toBe(200);
  for (const host of ["127.0.0.1", "evil.example", "receiver.internal.evil.example"]) {
    for (const path of ["/", "/inbox", "/metrics", "/events"]) {
      const answer = await ask(url + path, { host });
      expect([answer.status, answer.json()]).toMatchObject([403, { error: "forbidden_host" }]);
    }
    for (const path of ["/healthz", "/readyz"]) expect((await ask(url + path, { host })).status).toBe(200);
  }
});

test("a token is shown as a bearer, or as the password beside any name", async () => {
  const adminToken = "0123456789:abcdef";
  const { url } = await serveAdmin(await openInbox(), { adminToken, adminAllowedHosts: undefined });
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
  for (const authorization of [`Bearer ${adminToken}`, basic(`maria:${adminToken}`), `bearer ${adminToken}`])
    expect((await ask(`${url}/inbox`, { authorization })).status).toBe(200);
  for (const authorization of [
    "",
    `Bearer ${adminToken}x`,
    "Bearer ",
    adminToken,
    basic(`${adminToken}:`),
    basic(adminToken),
  ]) {
    const answer = await ask(`${url}/metrics`, authorization === "" ? {} : { authorization });
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toEqual(["Bearer", expect.stringContaining("Basic")]);
  }
  expect((await ask(`${url}/readyz`)).status).toBe(200);
});

test("metrics are text for Prometheus, and everything else is 404", async () => {
  const { url } = await serveAdmin(await openInbox());
  const metrics = await ask(`${url}/metrics`);
  expect(metrics.headers["content-type"]).toContain("text/plain");
  expect(metrics.text).toContain('receiver_handler_jobs{handler="kitchen",state="waiting"} 0');
  expect((await ask(`${url}/nothing`)).json()).toMatchObject({ error: "not_found" });
  expect((await ask(`${url}/inbox/%E0%A4%A`)).json()).toMatchObject({ error: "invalid_request" });
});

test("an answer that takes longer than ten seconds is 503, and one that fails is 500 with the reason in the log", async () => {
  const clock = standingClock();
  const asked = Promise.withResolvers<void>();
  const slow = await serveAdmin(await openInbox(), {
    clock,
    ledger: {
      list: async () => {
        asked.resolve();
        return new Promise(() => undefined);
      },
    },
  });
  const answer = ask(`${slow.url}/inbox`);
  await asked.promise;
  await clock.pass(10_000);
  expect(await answer).toMatchObject({ status: 503 });

  const failing = await serveAdmin(await openInbox(), {
    ledger: { counts: async () => Promise.reject(new Error("disk I/O error")) },
  });
  expect(await ask(`${failing.url}/`)).toMatchObject({
    status: 500,
    text: expect.not.stringContaining("I/O"),
  });
  expect(failing.lines.join()).toContain("disk I/O error");
});
