import { describe, expect, test } from "vitest";
import { newEventId } from "../helpers/events.ts";
import { serveAdmin } from "./admin.ts";
import { get, post, troubled, words } from "./browser.ts";
import { dead, openInbox } from "./inbox.ts";

const CAUSE = "Customer <number> is unknown";

describe("the overview", () => {
  test("shows dead jobs by handler, cause and time, and the state of each handler", async () => {
    const inbox = await troubled();
    const { url } = await serveAdmin(inbox);
    const page = await get(`${url}/`);
    expect(words(page)).toMatch(
      /Dead, by cause .* log-call Customer <number> is unknown 2 \d{4}-.* ago .* kitchen HTTP 500 1/,
    );
    expect(words(page)).toMatch(
      /Handlers .* kitchen 0 0 1 0 0 log-call 1 0 2 0 1 \d{4}-.* 5 events are known\. No handler wanted 1 of them/,
    );
    expect(page.text).toMatch(/<meta http-equiv="refresh" content="10"/);
  });

  test("says that nothing is dead, and that no worker has started", async () => {
    const { url } = await serveAdmin(await openInbox({}));
    expect(words(await get(`${url}/`))).toMatch(/Nothing is dead\..*No worker has started yet\./);
  });

  test("begins with problems: handlers that could not start, and why", async () => {
    const inbox = await openInbox();
    const workerStatus = () => ({ state: "broken", problem: "Cannot find module './crm.ts'" }) as const;
    const { url } = await serveAdmin(inbox, { workerStatus });
    const page = await get(`${url}/`);
    expect(page.text).toMatch(/role="alert"><strong>handlers: broken<\/strong>[^<]*Cannot find module/);
    expect(words(page).indexOf("handlers: broken")).toBeLessThan(words(page).indexOf("Dead, by cause"));
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
    expect(words(await get(`${url}/event?id=%20${crashed}%20`))).toContain("kitchen dead 1 ended");
    const later = await inbox.handled({ kind: "later", error: "closed", delayMs: 7_200_000 });
    const { nextAttemptAtMs } = (await inbox.ledger.find(later)) ?? {};
    const utc = new Date(nextAttemptAtMs ?? 0).toISOString().slice(0, 19).replace("T", " ");
    expect(words(await get(`${url}/event?id=${later}`))).toContain(`deferred until ${utc} in 2 h`);
    const healed = await inbox.handled({ kind: "done" }, { source: "reconcile", objectId: "call_1" });
    await inbox.stored({ objectId: "call_1" });
    const from = words(await get(`${url}/event?id=${healed}`));
    expect(from).toMatch(/call\.completed .* done · found missing by reconcile · .* · 1 more deliveries/);
    const done = await inbox.handled({ kind: "done" });
    await inbox.ledger.prune({ bodiesMs: Date.now() + 1_000, idsMs: 0 });
    const gone = words(await get(`${url}/event?id=${done}`));
    expect(gone).toMatch(/pruned .*Its jobs are not known\. Envelope It is pruned\./);
    expect(words(await get(`${url}/events?type=x.y`))).toContain("No event matches.");
    expect((await get(`${url}/event?id=${newEventId()}`)).status).toBe(404);
    expect((await get(`${url}/event?id=..%2f..`)).status).toBe(404);
  });

  test("an event shows its jobs with their last errors, and its redacted envelope", async () => {
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
    const shown = await get(`${(await serveAdmin(inbox)).url}/event?id=${id}`);
    expect(words(shown)).toMatch(/log-call dead 2 ended .* 2: second .* 1: first/);
    expect(shown.text).not.toMatch(/<script|12125550123/);
    expect(shown.text).toContain("9007199254740993000");
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
    const all = await get(`${url}/confirm?action=requeue&state=dead`);
    expect(words(all)).toMatch(/Customer <number> is unknown 2 kitchen HTTP 500 1 /);
    expect((await inbox.ledger.find(unknown[0]!))?.state).toBe("dead");

    const answer = await post(`${url}/confirm`, {
      action: "requeue",
      state: "dead",
      handler: "log-call",
      cause: CAUSE,
      total: "2",
    });
    expect(answer).toMatchObject({ status: 303, location: "/actions" });
    const actions = await get(`${url}/actions`);
    expect(words(actions)).toContain(`requeue: dead, log-call, ${CAUSE} 2 of 2 done`);
    expect(actions.text).toContain(`href="/events?state=dead&#38;handler=log-call&#38;cause=`);
    for (const id of unknown) expect((await inbox.ledger.find(id))?.state).toBe("waiting");
    expect((await inbox.ledger.find(crashed))?.state).toBe("dead");

    expect(words(await get(`${url}/confirm?action=requeue&state=ignored`))).toContain("no handler wanted it");
    await post(`${url}/confirm`, { action: "requeue", state: "ignored" });
    expect((await inbox.ledger.find(unwanted))?.state).toBe("ignored");
  });

  test("of all states change only the jobs that an action can change", async () => {
    const { unknown, crashed, failing, ...inbox } = await troubled();
    const { url } = await serveAdmin(inbox);
    await inbox.handled({ kind: "done" });
    await inbox.ledger.prune({ bodiesMs: Date.now() + 1_000, idsMs: 0 });
    const event = /waiting · sent by the service · .* 0 more .* next attempt \S+ \S+ in 60 min/;
    expect(words(await get(`${url}/event?id=${failing}`))).toMatch(event);
    // Pruned events are not among them.
    expect(words(await get(`${url}/confirm?action=requeue`))).toMatch(/Requeue 3 jobs/);
    expect(words(await get(`${url}/confirm?action=discard&handler=log-call`))).toMatch(/Discard 3 jobs/);
    await post(`${url}/confirm`, { action: "discard", handler: "log-call", reason: "test calls" });
    for (const id of [...unknown, failing])
      expect(await inbox.ledger.find(id)).toMatchObject({
        state: "ignored",
        jobs: [{ lastError: "test calls" }],
      });
    expect((await inbox.ledger.find(crashed))?.state).toBe("dead");
    expect(words(await get(`${url}/event?id=${failing}`))).toContain("test calls");
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
    // The list of one handler: its boxes mean this handler's jobs.
    const list = await get(`${url}/events?handler=email`);
    const hidden = [...list.text.matchAll(/<input type="hidden" name="(\w+)" value="(\w+)"/g)];
    const kept = Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value]));
    await post(`${url}/confirm`, { action: "discard", id, ...kept, reason: "spam" });
    expect(await states()).toEqual(["dead", "ignored"]);
  });

  test("of chosen events go back to them, and leave a line in the log with the operator and no person", async () => {
    const { unknown, ...inbox } = await troubled();
    const [id = ""] = unknown;
    const adminToken = "0123456789abcdef";
    const { url, lines } = await serveAdmin(inbox, { adminToken });
    const authorization = `Basic ${Buffer.from(`maria:${adminToken}`).toString("base64")}`;
    const question = await get(`${url}/confirm?action=discard&id=${id}`, { authorization });
    expect(question.text).toContain(`href="/event?id=${id}"`);
    await post(`${url}/confirm`, { action: "discard", id, reason: "spam" }, { authorization });
    expect(words(await get(`${url}/actions`, { authorization }))).toMatch(
      /discard: 1 chosen 1 of all done .* ago .* ago maria/,
    );
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { level: "warn", operator: "maria", kind: "discard", reason: "spam", ids: 1, jobs: 1, ended: "done" },
    ]);
    expect(words(await get(`${url}/confirm?action=discard&id=${id}`, { authorization }))).toContain(
      "No job that matches can be discarded.",
    );
  });

  test("need a chosen event, and a form of this page", async () => {
    const { unknown, ...inbox } = await troubled();
    const { url } = await serveAdmin(inbox);
    expect((await get(`${url}/confirm?action=requeue&state=dead&id=`)).status).toBe(400);
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
    const behindTls = { origin: url.replace("http:", "https:") };
    for (const headers of [{}, behindTls])
      expect(await post(`${url}/confirm`, form, headers)).toMatchObject({ status: 303 });
  });

  test("of done jobs are requested by that state, and handle them once more", async () => {
    const inbox = await openInbox({ crm: "call.completed", email: "call.completed" });
    const id = await inbox.handled({ kind: "done" }, { handler: "crm" });
    const { url } = await serveAdmin(inbox);
    expect(words(await get(`${url}/confirm?action=requeue&handler=crm`))).toContain("can be requeued");
    expect(words(await get(`${url}/confirm?action=requeue&state=done`))).toMatch(/crm 1 .*Requeue 1 job/);
    await post(`${url}/confirm`, { action: "requeue", state: "done" });
    expect(await inbox.jobs.claim("crm", 2)).toMatchObject([{ id, attempt: 1 }]);
    // The last ten are kept, the latest first.
    for (let count = 0; count < 10; count += 1)
      await post(`${url}/confirm`, { action: "requeue", state: "done" });
    await post(`${url}/confirm`, { action: "discard", state: "dead" });
    const actions = words(await get(`${url}/actions`));
    expect(actions).toMatch(/Change discard: dead 0 .* requeue: done 0 /);
    expect(actions.match(/requeue: done/g)).toHaveLength(9);
  });
});

test("every page forbids scripts, frames and caching, and foreign quotes end no attribute", async () => {
  const inbox = await troubled();
  await inbox.handled(dead('" onload="x'));
  const { url } = await serveAdmin(inbox);
  const hostile = `/events?cause=${encodeURIComponent('" onload="x')}`;
  for (const path of ["/", hostile, "/confirm?action=requeue&state=dead", "/event?id=x", "/actions"]) {
    const { headers, text } = await get(url + path);
    expect(headers["content-security-policy"]).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; frame-ancestors 'none'/,
    );
    expect(headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    expect(text).not.toMatch(/<script|style="| on\w+="/);
  }
});
