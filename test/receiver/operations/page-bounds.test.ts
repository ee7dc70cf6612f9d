import { createServer } from "node:http";
import express from "express";
import { expect, test } from "vitest";
import { createOperatorPage } from "../../../receiver/operations/page/index.ts";
import { count } from "../../../receiver/operations/selection.ts";
import type { Ledger } from "../../../receiver/store/port.ts";
import { listen } from "../../helpers/listen.ts";
import { newEventId } from "../helpers/events.ts";
import { accept, begin, claimOne, event, handler } from "../store-suite/harness.ts";
import { sqliteBackend } from "../store/sqlite.ts";
import { operatorParts, serveAdmin } from "./admin.ts";
import { get, post, troubled, words } from "./browser.ts";
import { dead, openInbox } from "./inbox.ts";

/** How much the operator's page shows and accepts at a time, and where it may be mounted. */

test("events are listed fifty at a time, with the filter kept on the way to older ones", async () => {
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

test("a job that waits behind another with its key says so, and one that runs cannot be discarded", async () => {
  const { store } = await begin(sqliteBackend, [handler({ key: ["type"] })]);
  const [running = "", held = ""] = await accept(store, event(), event());
  await claimOne(store);
  const { url } = await serveAdmin(store);
  expect(words(await get(`${url}/event?id=${held}`))).toContain(
    "everything waiting 0 behind its key Discard…",
  );
  expect(words(await get(`${url}/event?id=${running}`))).toMatch(/everything running 1 Envelope/);
});

test.each([99_999, 100_000])("%i jobs are counted, and it is said if there may be more", async (total) => {
  const jobs = Array.from({ length: total }, () => ({ handler: "h", state: "dead", lastError: "no" }));
  const list = async () => [{ seq: 1, receivedAtMs: 0, id: newEventId(), jobs }] as never;
  const counted = await count({ list } as unknown as Ledger, {}, "requeue");
  expect(counted).toMatchObject({ total, isMore: total === 100_000 });
});

test("an event with a body over 64 KB shows its beginning", async () => {
  const inbox = await openInbox({});
  const id = newEventId();
  const many = Array.from({ length: 9_000 }, () => "+12125550123");
  const envelope = { id, type: "call.completed", data: { many } };
  await inbox.stored({ id, envelope });
  const { text } = await get(`${(await serveAdmin(inbox)).url}/event?id=${id}`);
  expect(text).toMatch(/\+10000000000.*…/s);
  expect(text).not.toContain("12125550123");
  expect(text.length).toBeLessThan(100_000);
});

test("a form that cannot be read is refused as the sender's mistake", async () => {
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

test("an action on a page of ticked boxes asks once about all of them", async () => {
  const inbox = await openInbox();
  const ids: string[] = [];
  for (let count = 0; count < 50; count += 1) ids.push(await inbox.handled(dead("HTTP 500")));
  const { url } = await serveAdmin(inbox);
  const query = new URLSearchParams({ action: "requeue" });
  for (const id of ids) query.append("id", id);
  expect(words(await get(`${url}/confirm?${query.toString()}`))).toContain("Requeue 50 jobs");
});

test("an action on thousands shows its progress, continues without the browser, and can be canceled", async () => {
  const inbox = await openInbox();
  for (let count = 0; count < 201; count += 1) await inbox.handled(dead("HTTP 500"));
  const slices: PromiseWithResolvers<number>[] = [];
  const asked: string[] = [];
  const requeue = async (ids: readonly string[]) => {
    asked.push(...ids);
    return (slices[slices.push(Promise.withResolvers<number>()) - 1] ?? Promise.withResolvers<number>())
      .promise;
  };
  const { url } = await serveAdmin(inbox, { ledger: { requeue } });
  const shown = async () => words(await get(`${url}/actions`));
  const form = { action: "requeue", state: "dead", total: "201" };
  for (const _ of ["goes on", "is canceled"]) expect((await post(`${url}/confirm`, form)).status).toBe(303);
  const running = await get(`${url}/actions`);
  expect(words(running)).toMatch(
    /requeue: dead 0 of 201 running .* Cancel requeue: dead 0 of 201 running .* Cancel/,
  );
  expect(running.text).toContain('content="2"');
  const [, earlier = ""] = [...running.text.matchAll(/action="(\/actions\/\d+)"/g)].flatMap(([, one]) => one);
  expect((await post(url + earlier, {}, { "sec-fetch-site": "cross-site" })).status).toBe(403);
  expect(await post(url + earlier, {})).toMatchObject({ status: 303, location: "/actions" });
  const late = await inbox.handled(dead("HTTP 500"));
  for (const slice of slices) slice.resolve(200);
  await expect.poll(() => slices.length).toBe(3);
  slices[2]?.resolve(1);
  await expect.poll(shown).toMatch(/dead 201 of 201 done .* dead 200 of 201 canceled/);
  expect(slices).toHaveLength(3);
  expect(asked).not.toContain(late);
  // Ended jobs keep their state.
  await post(`${url}${earlier.replace(/\d+$/, "2")}`, {});
  expect(await shown()).toMatch(/dead 201 of 201 done .* dead 200 of 201 canceled/);
  expect((await get(`${url}/actions`)).text).not.toContain("http-equiv");
});

test("it can be mounted at a path of another app, closed to anyone its guard refuses", async () => {
  const { unknown, ...inbox } = await troubled();
  const page = createOperatorPage({
    ...operatorParts(inbox),
    guard: async ({ headers }) => headers["x-user"] === "admin",
  });
  const app = express();
  app.use("/ops/receiver", page);
  app.get("/", (_request, response) => void response.send("mine"));
  const { url } = await listen(createServer(app));
  const headers = { "x-user": "admin" };
  for (const path of ["", "/", "/events", `/event?id=${unknown[0]!}`])
    expect((await get(`${url}/ops/receiver${path}`)).status).toBe(403);
  expect((await post(`${url}/ops/receiver/confirm`, { action: "requeue", state: "dead" })).status).toBe(403);
  expect((await inbox.ledger.find(unknown[0]!))?.state).toBe("dead");

  const overview = await get(`${url}/ops/receiver/`, headers);
  const broken = createOperatorPage({
    ...operatorParts(inbox, { ledger: { counts: async () => Promise.reject(new Error("secret place")) } }),
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
  const acted = await post(`${url}/ops/receiver/confirm`, { action: "requeue", state: "dead" }, headers);
  expect(acted).toMatchObject({ status: 303, location: "/ops/receiver/actions" });
  expect((await get(`${url}/`)).text).toBe("mine");
});
