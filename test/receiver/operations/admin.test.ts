import { request } from "undici";
import { expect, test } from "vitest";
import { newEventId } from "../helpers/events.ts";
import { serveAdmin } from "./admin.ts";
import { dead, openInbox } from "./inbox.ts";

async function ask(url: string, headers: Record<string, string> = {}) {
  const { statusCode: status, headers: answered, body } = await request(url, { headers });
  const text = await body.text();
  return { status, headers: answered, text, json: (): unknown => JSON.parse(text) };
}

const TIME: unknown = expect.stringMatching(/^\d{4}-.*Z$/);

test("an event shows its jobs, how often it was handled, and the last errors of each", async () => {
  const inbox = await openInbox();
  const { url } = await serveAdmin(inbox);
  const shown = async (id: string) => (await ask(`${url}/inbox/${id}`)).json();
  const id = await inbox.handled({ kind: "done" });
  const done = await shown(id);
  const all = { attempts: 1, handled: 1, last_error: null, next_attempt_at: null };
  const event = { ...all, id, type: "call.completed", state: "done", duplicates: 0, source: "webhook" };
  const job = { ...all, handler: "log-call", state: "done", errors: [] };
  expect(done).toMatchObject({ ...event, received_at: TIME, jobs: [job] });
  expect(done).not.toHaveProperty("deferred_until");

  const failing = await inbox.handled({ kind: "failed", error: "HTTP 500", delayMs: 3_600_000 });
  const errors = [{ attempt: 1, error: "HTTP 500", at: TIME }];
  const jobs = [{ state: "waiting", last_error: "HTTP 500", errors, next_attempt_at: TIME }];
  expect(await shown(failing)).toMatchObject({ state: "waiting", handled: 0, jobs });
  const later = await inbox.handled({ kind: "later", error: "closed", delayMs: 7_200_000 });
  expect(await shown(later)).toMatchObject({ deferred_until: TIME, jobs: [{ deferred: true }] });

  const odd = await inbox.stored({ type: "Maria Lopez" });
  expect(await shown(odd)).toMatchObject({ type: "other" });
  expect((await ask(`${url}/inbox/${newEventId()}`)).status).toBe(404);
});

test("the list is filtered and paged, newest first", async () => {
  const inbox = await openInbox();
  const { url } = await serveAdmin(inbox);
  const first = await inbox.handled(dead("customer 123456 is unknown"));
  const second = await inbox.handled(dead("HTTP 500"));
  await inbox.handled({ kind: "done" });
  const unwanted = await inbox.stored({ type: "agent.created" });

  const listed = async (query: string) => (await ask(`${url}/inbox?${query}`)).json();
  const data = (...ids: string[]) => ({ object: "list", data: ids.map((id) => ({ id })) });
  expect(await listed("state=dead")).toMatchObject({ ...data(second, first), has_more: false });
  expect(await listed("state=dead&limit=1")).toMatchObject({ ...data(second), has_more: true });
  expect(await listed("state=dead&before_seq=2")).toMatchObject(data(first));
  expect(await listed("state=ignored")).toMatchObject(data(unwanted));
  expect(await listed("handler=kitchen")).toMatchObject(data());
  const cause = encodeURIComponent("customer <number> is unknown");
  expect(await listed(`state=dead&cause=${cause}`)).toMatchObject(data(first));
  for (const wrong of ["state=lost", "limit=0", "limit=1001", "before_seq=x"])
    expect(await listed(wrong)).toMatchObject({ error: "invalid_request" });
});

test("only allowed host names are answered, in any case and with any port; health checks always", async () => {
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

test("a token is sent as a bearer token, or as the password with any user name", async () => {
  const token = "0123456789:abcdef";
  const options = { adminToken: token, adminAllowedHosts: undefined };
  const { url } = await serveAdmin(await openInbox(), options);
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
  for (const authorization of [`Bearer ${token}`, basic(`maria:${token}`), `bearer ${token}`])
    expect((await ask(`${url}/inbox`, { authorization })).status).toBe(200);
  const wrong = ["", `Bearer ${token}x`, "Bearer ", token, basic(`${token}:`), basic(token)];
  for (const authorization of wrong) {
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
  for (const path of ["/nothing", "/inbox/maria", "/INBOX", "/Metrics"])
    expect((await ask(url + path)).json()).toMatchObject({ error: "not_found" });
  expect((await ask(`${url}/inbox/%E0%A4%A`)).json()).toMatchObject({ error: "invalid_request" });
});

test("an answer that fails is 500 with the reason in the log", async () => {
  const counts = async () => Promise.reject(new Error("disk I/O error"));
  const failing = await serveAdmin(await openInbox(), { ledger: { counts } });
  const failed = await ask(`${failing.url}/`);
  expect(failed).toMatchObject({ status: 500, text: expect.not.stringContaining("I/O") });
  expect(failing.lines.join()).toContain("disk I/O error");
});
