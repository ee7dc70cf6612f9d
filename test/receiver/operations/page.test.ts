import { createServer } from "node:http";
import express from "express";
import { request } from "undici";
import { describe, expect, test } from "vitest";
import { createOperatorPage } from "../../../receiver/operations/page/index.ts";
import { listen } from "../../helpers/listen.ts";
import { newEventId } from "../helpers/events.ts";
import { operatorParts, serveAdmin } from "./admin.ts";
import { dead, openInbox, type Inbox } from "./inbox.ts";

type Answer = {
  status: number;
  text: string;
  location: string | undefined;
  headers: Record<string, unknown>;
};

async function get(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  return answerTo(await request(url, { headers }));
}

/** Confirms a question as a browser does: a form without an action goes to the address of its page. */
async function post(
  url: string,
  { reason, ...asked }: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { origin } = new URL(url);
  const body = new URLSearchParams(reason === undefined ? {} : { reason }).toString();
  const form = { "content-type": "application/x-www-form-urlencoded", origin, ...headers };
  const question = `${url}?${new URLSearchParams(asked).toString()}`;
  return answerTo(await request(question, { method: "POST", headers: form, body }));
}

async function answerTo({ statusCode, headers, body }: Awaited<ReturnType<typeof request>>): Promise<Answer> {
  const { location } = headers;
  return {
    status: statusCode,
    text: await body.text(),
    location: typeof location === "string" ? location : undefined,
    headers,
  };
}

/** What can be read on a page. */
function words({ text }: Answer): string {
  return text
    .replace(/<style>.*<\/style>/s, "")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ")
    .replaceAll("&#60;", "<")
    .replaceAll("&#62;", ">");
}

/** Three dead of two causes, one discarded, one that failed once, one that no handler wanted. */
async function troubled(): Promise<
  Inbox & { unknown: string[]; crashed: string; failing: string; unwanted: string }
> {
  const inbox = await openInbox();
  const unknown = [
    await inbox.handled(dead("Customer 1234567 is unknown")),
    await inbox.handled(dead("Customer 7654321 is unknown")),
  ];
  const crashed = await inbox.handled(dead("HTTP 500"), { handler: "kitchen", type: "order.created" });
  const failing = await inbox.handled({ kind: "failed", error: "timed out", delayMs: 3_600_000 });
  const unwanted = await inbox.stored({ type: "agent.created" });
  return { ...inbox, unknown, crashed, failing, unwanted };
}

const CAUSE = "Customer <number> is unknown";

describe("the overview", () => {
  test("says what is dead by handler and cause and since when, and how each handler is", async () => {
    const inbox = await troubled();
    const { url, metrics } = await serveAdmin(inbox);
    metrics.handled([{ handler: "log-call", type: "call.completed", outcome: "done", durationMs: 1 }]);
    const page = await get(`${url}/`);
    expect(words(page)).toMatch(
      /Dead, by cause .* log-call Customer <number> is unknown 2 \d{4}-.* ago .* kitchen HTTP 500 1/,
    );
    expect(words(page)).toMatch(
      /Handlers .* kitchen 0 0 1 0 0 .* log-call 1 0 2 0 1 \d{4}-.* 1 5 events are known\. No handler wanted 1 of them/,
    );
    expect(page.text).toMatch(/<meta http-equiv="refresh" content="10"/);
  });

  test("says that nothing is dead, and that no worker has started", async () => {
    const { url } = await serveAdmin(await openInbox({}));
    expect(words(await get(`${url}/`))).toMatch(/Nothing is dead\..*No worker has started yet\./);
  });

  test("begins with what is wrong: handlers that could not be started, and why", async () => {
    const inbox = await openInbox();
    const workerStatus = () => ({ state: "broken", problem: "Cannot find module './crm.ts'" }) as const;
    const { url } = await serveAdmin(inbox, { workerStatus });
    const page = await get(`${url}/`);
    expect(page.text).toMatch(
      /role="alert"><strong>handlers: could not be started<\/strong>[^<]*Cannot find module/,
    );
    expect(words(page).indexOf("could not be started")).toBeLessThan(words(page).indexOf("Dead, by cause"));
  });
});

describe("events", () => {
  test("of one cause are listed, and each can be found by its id", async () => {
    const { unknown, crashed, ...inbox } = await troubled();
    const { url } = await serveAdmin(inbox);
    const page = await get(`${url}/`);
    const [, link = ""] = /href="([^"]*cause=Customer[^"]*)"/.exec(page.text) ?? [];
    const list = await get(url + link.replaceAll("&#38;", "&"));
    for (const id of unknown) expect(list.text).toContain(id);
    expect(list.text).not.toContain(crashed);
    expect(words(list)).toContain(`Events: dead, log-call, ${CAUSE}`);
    expect(await get(`${url}/events?id=%20${crashed}%20`)).toMatchObject({
      status: 303,
      location: `/events/${crashed}`,
    });
    expect((await get(`${url}/events/${newEventId()}`)).status).toBe(404);
    expect((await get(`${url}/events/..%2f..`)).status).toBe(404);
  });

  test("are listed fifty at a time, with the filter kept on the way to older ones", async () => {
    const inbox = await openInbox({});
    for (let count = 0; count < 60; count += 1) await inbox.stored();
    const { url } = await serveAdmin(inbox);
    const first = await get(`${url}/events?type=call.completed`);
    const [, older = ""] = /href="([^"]*before_seq=[^"]*)"/.exec(first.text) ?? [];
    expect(older).toContain("type=call.completed");
    const second = await get(url + older.replaceAll("&#38;", "&"));
    expect([first, second].map(({ text }) => text.match(/type="checkbox"/g)?.length)).toEqual([50, 10]);
    expect(second.text).not.toContain("before_seq");
    expect((await get(`${url}/events?state=lost`)).status).toBe(400);
  });

  test("one shows its jobs with the last errors, and its envelope without what may be about a person", async () => {
    const inbox = await openInbox();
    const id = newEventId();
    const envelope = {
      id,
      type: "call.completed",
      data: { object: { object: "call", phone: "+12125550123", total: 12.5 } },
    };
    const body = Buffer.from(JSON.stringify(envelope).replace("12.5", "9007199254740993000"));
    await inbox.handled({ kind: "failed", error: "first", delayMs: 0 }, { id, envelope, body });
    const [job] = await inbox.jobs.claim("log-call", 1);
    await inbox.jobs.end(job!, dead("second <script>alert(1)</script>"));
    const shown = await get(`${(await serveAdmin(inbox)).url}/events/${id}`);
    expect(words(shown)).toMatch(/log-call dead 2 ended .* 2: second .* 1: first/);
    expect(shown.text).not.toMatch(/<script|12125550123/);
    expect(shown.text).toContain("9007199254740993000");
    const whole = await get(`${(await serveAdmin(inbox, { adminShowsBodies: true })).url}/events/${id}`);
    expect(whole.text).toContain("+12125550123");
  });

  test("one with a body over 64 KB shows its beginning", async () => {
    const inbox = await openInbox({});
    const id = newEventId();
    const many = Array.from({ length: 9_000 }, () => "+12125550123");
    const envelope = { id, type: "call.completed", data: { many } };
    await inbox.stored({ id, envelope });
    const { text } = await get(`${(await serveAdmin(inbox)).url}/events/${id}`);
    expect(text).toMatch(/\+10000000000.*…/s);
    expect(text).not.toContain("12125550123");
    expect(text.length).toBeLessThan(100_000);
  });
});

describe("requeue and discard", () => {
  test("ask first, with the number of jobs by handler and cause, and then do just that", async () => {
    const { unknown, crashed, unwanted, ...inbox } = await troubled();
    const { url } = await serveAdmin(inbox);
    const question = await get(
      `${url}/confirm?action=requeue&state=dead&handler=log-call&cause=${encodeURIComponent(CAUSE)}`,
    );
    expect(words(question)).toMatch(
      /Requeue\? .* log-call Customer <number> is unknown 2 .* Requeue 2 jobs Back/,
    );
    expect(question.text).not.toContain("http-equiv");
    expect((await inbox.ledger.find(unknown[0]!))?.state).toBe("dead");

    const answer = await post(`${url}/confirm`, {
      action: "requeue",
      state: "dead",
      handler: "log-call",
      cause: CAUSE,
    });
    expect(answer).toMatchObject({
      status: 303,
      location: `/events?${new URLSearchParams({ state: "dead", handler: "log-call", cause: CAUSE }).toString()}`,
    });
    expect(words(await get(url + (answer.location ?? "")))).toContain(
      `requeue (dead, log-call, ${CAUSE}): 2 events, done`,
    );
    for (const id of unknown) expect((await inbox.ledger.find(id))?.state).toBe("waiting");
    expect((await inbox.ledger.find(crashed))?.state).toBe("dead");

    expect(words(await get(`${url}/confirm?action=requeue&state=ignored`))).toContain("no handler wanted it");
    await post(`${url}/confirm`, { action: "requeue", state: "ignored" });
    expect((await inbox.ledger.find(unwanted))?.state).toBe("ignored");
  });

  test("of all states change what an action can change, and nothing else", async () => {
    const { unknown, crashed, failing, ...inbox } = await troubled();
    const { url } = await serveAdmin(inbox);
    expect(words(await get(`${url}/confirm?action=discard&handler=log-call`))).toMatch(/Discard 3 jobs/);
    await post(`${url}/confirm`, { action: "discard", handler: "log-call", reason: "test calls" });
    for (const id of [...unknown, failing])
      expect(await inbox.ledger.find(id)).toMatchObject({
        state: "ignored",
        jobs: [{ lastError: "test calls" }],
      });
    expect((await inbox.ledger.find(crashed))?.state).toBe("dead");
    expect(words(await get(`${url}/events/${failing}`))).toContain("test calls");
  });

  test("change the job that is meant and not its siblings", async () => {
    const inbox = await openInbox({ crm: "call.completed", email: "call.completed" });
    const id = await inbox.handled(dead("no such customer"), { handler: "crm" });
    const [job] = await inbox.jobs.claim("email", 1);
    await inbox.jobs.end(job!, dead("HTTP 500"));
    const states = async () => (await inbox.ledger.find(id))?.jobs.map(({ state }) => state);
    const { url } = await serveAdmin(inbox);
    await post(`${url}/confirm`, { action: "requeue", state: "dead", cause: "HTTP 500" });
    expect(await states()).toEqual(["dead", "waiting"]);
    // The list of one handler: what is ticked there means its jobs.
    const list = await get(`${url}/events?handler=email`);
    const [, name = "", value = ""] = /<input type="hidden" name="(\w+)" value="(\w+)"/.exec(list.text) ?? [];
    await post(`${url}/confirm`, { action: "discard", id, [name]: value, reason: "spam" });
    expect(await states()).toEqual(["dead", "ignored"]);
  });

  test("in a form that cannot be read are refused as the sender's mistake", async () => {
    const { url, lines } = await serveAdmin(await openInbox());
    const sent = async (body: string, headers: Record<string, string> = {}) =>
      (
        await fetch(`${url}/confirm`, {
          method: "POST",
          body,
          headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
        })
      ).status;
    expect(await sent("id=x&".repeat(50_000))).toBe(413);
    expect(await sent("no gzip", { "content-encoding": "gzip" })).toBe(400);
    expect(lines).toEqual([]);
  });

  test("of chosen events go back to them, and leave a line in the log with the operator and no person", async () => {
    const { unknown, ...inbox } = await troubled();
    const [id = ""] = unknown;
    const adminToken = "0123456789abcdef";
    const { url, lines } = await serveAdmin(inbox, { adminToken });
    const authorization = `Basic ${Buffer.from(`maria:${adminToken}`).toString("base64")}`;
    const question = await get(`${url}/confirm?action=discard&id=${id}`, { authorization });
    expect(question.text).toContain(`href="/events/${id}"`);
    const answer = await post(`${url}/confirm`, { action: "discard", id, reason: "spam" }, { authorization });
    expect(answer.location).toBe(`/events/${id}`);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { level: "warn", operator: "maria", kind: "discard", reason: "spam", ids: 1, events: 1 },
    ]);
    expect(words(await get(`${url}/confirm?action=discard&id=${id}`, { authorization }))).toContain(
      "No job that matches can be discarded.",
    );
  });

  test("need something that is chosen, and a form of this page", async () => {
    const { unknown, ...inbox } = await troubled();
    const { url } = await serveAdmin(inbox);
    expect((await get(`${url}/confirm?action=requeue`)).status).toBe(400);
    expect((await get(`${url}/confirm?action=delete&state=dead`)).status).toBe(400);
    const form = { action: "requeue", state: "dead" };
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ])
      expect((await post(`${url}/confirm`, form, headers)).status).toBe(403);
    expect((await inbox.ledger.find(unknown[0]!))?.state).toBe("dead");
    expect(await post(`${url}/confirm`, form)).toMatchObject({ status: 303, location: "/events?state=dead" });
  });

  test("of a page of ticked boxes take all of them", async () => {
    const inbox = await openInbox();
    const ids: string[] = [];
    for (let count = 0; count < 50; count += 1) ids.push(await inbox.handled(dead("HTTP 500")));
    const { url } = await serveAdmin(inbox);
    const query = new URLSearchParams({ action: "requeue" });
    for (const id of ids) query.append("id", id);
    expect(words(await get(`${url}/confirm?${query.toString()}`))).toContain("Requeue 50 jobs");
  });

  test("of thousands show how far they are, and go on without the browser", async () => {
    const inbox = await openInbox();
    await inbox.handled(dead("HTTP 500"));
    const slow = Promise.withResolvers<number>();
    const { url } = await serveAdmin(inbox, { ledger: { requeue: async () => slow.promise } });
    expect(await post(`${url}/confirm`, { action: "requeue", state: "dead" })).toMatchObject({ status: 303 });
    const running = await get(`${url}/`);
    expect(words(running)).toContain("requeue (dead): 0 events, runs");
    expect(running.text).toContain('content="2"');
    slow.resolve(1);
    await expect.poll(async () => words(await get(`${url}/`))).toContain("requeue (dead): 1 events, done");
  });
});

test("every page forbids scripts, frames and being kept", async () => {
  const { url } = await serveAdmin(await troubled());
  for (const path of ["/", "/events", "/confirm?action=requeue&state=dead", "/events/x"]) {
    const { headers, text } = await get(url + path);
    expect(headers["content-security-policy"]).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; frame-ancestors 'none'/,
    );
    expect(headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    expect(text).not.toMatch(/<script|style="| on\w+="/);
  }
});

test("it can be mounted beneath a path of another app, closed to whom its guard does not let in", async () => {
  const { unknown, ...inbox } = await troubled();
  const page = createOperatorPage({
    ...operatorParts(inbox),
    showBodies: false,
    guard: async ({ headers }) => headers["x-user"] === "admin",
  });
  const app = express();
  app.use("/ops/receiver", page);
  app.get("/", (_request, response) => void response.send("mine"));
  const { url } = await listen(createServer(app));
  const headers = { "x-user": "admin" };
  for (const path of ["", "/", "/events", `/events/${unknown[0]!}`])
    expect((await get(`${url}/ops/receiver${path}`)).status).toBe(403);
  expect((await post(`${url}/ops/receiver/confirm`, { action: "requeue", state: "dead" })).status).toBe(403);
  expect((await inbox.ledger.find(unknown[0]!))?.state).toBe("dead");

  const overview = await get(`${url}/ops/receiver/`, headers);
  const broken = createOperatorPage({
    ...operatorParts(inbox, { ledger: { counts: async () => Promise.reject(new Error("secret place")) } }),
    showBodies: false,
    guard: ({ url: path }) => path === "/",
  });
  const alone = await listen(createServer(broken));
  expect(await get(`${alone.url}/`)).toMatchObject({
    status: 500,
    text: expect.not.stringContaining("secret place"),
  });
  expect((await get(`${alone.url}/events`)).status).toBe(403);

  const links = [...overview.text.matchAll(/(?:href|action)="([^"]*)"/g)].map(([, link]) => link);
  for (const link of links) expect(link).toMatch(/^\/ops\/receiver\//);
  const back = "/ops/receiver/events?state=dead";
  const acted = await post(`${url}/ops/receiver/confirm`, { action: "requeue", state: "dead" }, headers);
  expect(acted).toMatchObject({ status: 303, location: back });
  expect((await get(`${url}/`)).text).toBe("mine");
});
