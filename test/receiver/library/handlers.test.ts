import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import {
  createReceiver,
  defineHandler,
  PermanentFailure,
  RetryAfter,
  type Handler,
  type ReceiverOptions,
} from "../../../receiver/index.ts";
import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { idOf, newBody, newEventId, SECRET, signatureFor } from "../helpers/events.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** Handlers that an app gives as an array: they run in its own process. */

const databaseUrl = (): string => `sqlite:${join(temporaryDirectory(), "receiver.db")}`;

/** A receiver in this process, which is stopped when the test is over. `send` resolves with the answer. */
async function mount(options: ReceiverOptions = {}) {
  const silent = { LOG_LEVEL: "silent" };
  const common = { signingSecrets: [SECRET], databaseUrl: databaseUrl(), environment: silent };
  const receiver = await createReceiver({ ...common, ...options });
  onTestFinished(receiver.stop);
  const send = async (body = newBody()): Promise<Response> => {
    const headers = { [SIGNATURE_HEADER]: signatureFor(body) };
    return receiver.fetch(new Request("http://app.test/", { method: "POST", body, headers }));
  };
  return { receiver, send };
}

async function start(handlers: readonly Handler[], url: string, onDead?: ReceiverOptions["onDead"]) {
  const lines: { msg: string; handler?: string; outcome?: string }[] = [];
  const logTo = (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]);
  const options = { databaseUrl: url, handlers, logTo, environment: {}, ...(onDead && { onDead }) };
  const { receiver, send: post } = await mount(options);
  const send = async (type: string): Promise<void> => {
    expect((await post(newBody("call.completed", { type }))).status).toBe(200);
  };
  return { receiver, lines, send };
}

const object = z.looseObject({});
/** A time that a RetryAfter may name. */
const FAR = new Date(Date.now() + 3_600_000).toISOString();

test("handlers in an array handle events in this process, with retries, dead letters, onDead and metrics", async () => {
  const handled: { type: string; process: number }[] = [];
  const never = () => Promise.reject(new PermanentFailure("never"));
  const handlers = [
    defineHandler({
      name: "first",
      type: ["one", "two"],
      object,
      handle: async ({ type }) => void handled.push({ type, process: process.pid }),
    }),
    defineHandler({ name: "second", type: "two", object, handle: never }),
  ];
  const dead: unknown[] = [];
  const { receiver, lines, send } = await start(handlers, databaseUrl(), ({ event, ...rest }) =>
    dead.push({ type: event.type, ...rest }),
  );
  await send("one");
  await send("two");
  await expect.poll(() => lines.filter(({ outcome }) => outcome !== undefined).length).toBe(3);
  expect(handled).toEqual([
    { type: "one", process: process.pid },
    { type: "two", process: process.pid },
  ]);
  expect(lines.filter(({ outcome }) => outcome === "dead").map(({ handler }) => handler)).toEqual(["second"]);
  expect(dead).toEqual([
    { type: "two", handler: "second", attempts: 1, error: expect.stringContaining("never") as unknown },
  ]);
  await expect
    .poll(async () => (await receiver.metrics()).body)
    .toMatch(/receiver_handling_seconds_count\{[^}]*outcome="dead"[^}]*\} 1/);
});

test("a receiver that repeatedly fails to start keeps no file open", async () => {
  const directory = temporaryDirectory();
  const broken = defineHandler({
    name: "broken",
    type: "one",
    migrations: ["CREATE TABEL calls"],
    handle: async () => undefined,
  });
  for (const handlers of [[broken], [broken, broken]])
    await expect(start(handlers, `sqlite:${join(directory, "receiver.db")}`)).rejects.toThrow(
      /TABEL|Two handlers/,
    );
  // Closing the last connection deletes the write-ahead log.
  expect(readdirSync(directory).toSorted()).toEqual(["receiver.db", "receiver.db-lock"]);
});

test("an app that changes its working directory keeps the inbox that it opened", () => {
  const { href } = new URL("../../../receiver/index.ts", import.meta.url);
  const script = `
    import { createReceiver } from ${JSON.stringify(href)};
    const receiver = await createReceiver({ signingSecrets: ["whsec_a"], databaseUrl: "sqlite:receiver.db", logTo() {} });
    process.chdir("..");
    console.log((await receiver.health()).checks.database);
    await receiver.stop();`;
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, "app.mjs"), script);
  const { stdout } = spawnSync(process.execPath, ["app.mjs"], { cwd, encoding: "utf8" });
  expect(stdout).toBe("ok\n");
});

const FAKED = ["setImmediate", "setTimeout", "setInterval", "performance"] as const;

test.each([
  ["all that stands still by default", {}],
  ["immediates, timers and clocks", { toFake: [...FAKED] }],
])("under the fake timers of a test (%s) events are acknowledged and handled as usual", async (_, config) => {
  const handled = Promise.withResolvers<string>();
  const handlers = [
    defineHandler({ name: "h", type: "one", object, handle: async ({ type }) => handled.resolve(type) }),
  ];
  const { receiver, send } = await start(handlers, databaseUrl());
  vi.useFakeTimers(config);
  onTestFinished(() => void vi.useRealTimers());
  await send("one");
  expect(await handled.promise).toBe("one");
  await receiver.stop();
});

test("a stop waits for the running handler, and other jobs remain for the next start", async () => {
  const url = databaseUrl();
  const begun = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const ended: string[] = [];
  const slow = defineHandler({
    name: "slow",
    type: "slow",
    object,
    handle: async () => {
      begun.resolve();
      await go.promise;
      ended.push("slow");
    },
  });
  const late: string[] = [];
  const handle = async () => void late.push("late");
  const handler = defineHandler({ name: "late", type: "late", object, handle });
  const first = await start([slow, handler], url);
  await first.send("slow");
  await begun.promise;
  // A second receiver on this file waits until the first ends, and can be stopped while it waits.
  const second = await start([slow, handler], url);
  await second.receiver.stop();
  expect(second.lines).toEqual([]);
  const stopped = first.receiver.stop().then(() => ended.push("stopped"));
  go.resolve();
  await stopped;
  expect(ended).toEqual(["slow", "stopped"]);

  const onlyTakes = await mount({ databaseUrl: url });
  await onlyTakes.send(newBody("call.completed", { type: "late" }));
  await onlyTakes.receiver.stop();
  await start([slow, handler], url);
  await expect.poll(() => late).toEqual(["late"]);
});

const ANY = [defineHandler({ name: "any", type: "*", handle: () => undefined })];
const SEVERAL = { environment: { MAX_ATTEMPTS: "0", RETENTION_DAYS: "0" } };

test.each<[string, ReceiverOptions, RegExp]>([
  ["a role that handles, without handlers", { role: "worker" }, /"worker" handles events: give it/],
  ["a role that does both, without handlers", { role: "all" }, /"all" handles events: give it `handlers`\./],
  ["no secret", { signingSecrets: [] }, /SIGNING_SECRET is missing/],
  ["several mistakes", SEVERAL, /MAX_ATTEMPTS must be .* from 1 to 100.* RETENTION_DAYS .* 1 to 3650/],
])("a receiver with %s is refused in words", async (_what, options, words) => {
  vi.stubEnv("SIGNING_SECRET", "");
  onTestFinished(() => void vi.unstubAllEnvs());
  const creating = mount({ environment: {}, ...options });
  await expect(creating).rejects.toThrow(/^createReceiver\(\): /);
  await expect(creating).rejects.toThrow(words);
});

test.each<[string, ReceiverOptions, string, string]>([
  ["without handlers", {}, "", "waiting"],
  ["without handlers, whatever the environment says", {}, "all", "waiting"],
  ["with handlers", { handlers: [] }, "", "ignored"],
  ["with handlers, by its own role", { handlers: ANY, role: "ingest" }, "all", "waiting"],
  ["with handlers, by the environment's role", { handlers: ANY }, "ingest", "waiting"],
])("a receiver %s leaves what it takes %s", async (_what, options, role, state) => {
  vi.stubEnv("RECEIVER_ROLE", role);
  onTestFinished(() => void vi.unstubAllEnvs());
  const url = databaseUrl();
  const { receiver, send } = await mount({ databaseUrl: url, ...options });
  const body = newBody();
  await send(body);
  await expect.poll(async () => (await receiver.event(idOf(body)))?.state).toBe(state);
  expect(await receiver.event(idOf(body))).toMatchObject({ id: idOf(body), state, jobs: [] });
  expect(await receiver.event(idOf(body).toUpperCase().replace("EVT", "evt"))).toMatchObject({
    id: idOf(body),
  });
  for (const id of ["", "evt_1", `${idOf(body)}0`, newEventId()])
    expect(await receiver.event(id)).toBeUndefined();
  expect(await receiver.health()).toEqual({
    ready: true,
    checks: expect.objectContaining({ database: "ok", disk: "ok", draining: "ok" }),
  });
  const stopped = receiver.stop();
  const refused = await send(body);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await receiver.health()).toMatchObject({ ready: false, checks: { draining: "shutting down" } });
  // A second stop has no effect.
  expect(receiver.stop()).toBe(stopped);
  await stopped;
  expect(existsSync(`${url.slice("sqlite:".length)}-wal`)).toBe(false);
});

test("fetch() returns the same status, headers and text as the other adapters", async () => {
  const { receiver } = await mount();
  const body = newBody();
  const signed = { method: "POST", body, headers: { [SIGNATURE_HEADER]: signatureFor(body) } };
  const ask = async (init: RequestInit) => {
    const answer = await receiver.fetch(new Request("http://app.test/hooks", init));
    const { status, headers } = answer;
    return [status, headers.get("content-type"), headers.get("allow"), await answer.json()];
  };
  const json = "application/json; charset=utf-8";
  for (const duplicate of [false, true])
    expect(await ask(signed)).toEqual([200, json, null, { received: true, duplicate }]);
  const refused = (error: string): unknown => expect.objectContaining({ error });
  expect(await ask({ method: "POST", body })).toEqual([401, json, null, refused("invalid_signature")]);
  const twice = [...Object.entries(signed.headers), ...Object.entries(signed.headers)];
  expect(await ask({ ...signed, headers: twice })).toEqual([401, json, null, refused("invalid_signature")]);
  expect(await ask({ method: "GET" })).toEqual([405, json, "POST", refused("method_not_allowed")]);
});

test("a log that fails is reported, and disturbs neither an answer nor a handler", async () => {
  const report = vi.spyOn(console, "error").mockImplementation(() => undefined);
  onTestFinished(() => report.mockRestore());
  const logTo = (): never => {
    throw new Error("full");
  };
  const { receiver, send } = await mount({ handlers: ANY, logTo, environment: {} });
  const body = newBody();
  expect((await send(body)).status).toBe(200);
  await expect.poll(async () => receiver.handled(idOf(body))).toEqual({ handled: 1, state: "done" });
  await expect.poll(() => report.mock.calls.length).toBe(2);
});

test("the services of an app are closed when its handlers have ended", async () => {
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ended: string[] = [];
  const handle = async (): Promise<void> => {
    begun.resolve();
    await go.promise;
    ended.push("handled");
  };
  const { receiver, send } = await mount({
    handlers: [defineHandler({ name: "slow", type: "*", handle })],
    createServices: async () => ({ services: {}, close: () => void ended.push("closed") }),
  });
  await send();
  await begun.promise;
  const stopped = receiver.stop();
  go.resolve();
  await stopped;
  expect(ended).toEqual(["handled", "closed"]);
});

test("a receiver in an app makes a file for its owner alone, and logs no secret", async () => {
  const url = databaseUrl();
  const lines: string[] = [];
  const logTo = (line: string) => void lines.push(line);
  const { receiver } = await mount({ databaseUrl: url, environment: {}, logTo });
  expect(statSync(url.slice("sqlite:".length)).mode & 0o777).toBe(0o600);
  await receiver.fetch(new Request(`http://app.test/hooks/${SECRET}`, { method: "POST", body: "{}" }));
  expect(lines.join("")).toContain("header_missing");
  expect(lines.join("")).not.toContain(SECRET);
});

test("handled() says how often an event was handled, its state, and until when it is deferred", async () => {
  const later = defineHandler({
    name: "later",
    type: "order.created",
    handle: () => Promise.reject(new RetryAfter(new Date(FAR))),
  });
  const all = defineHandler({ name: "all", type: "call.completed", handle: () => undefined });
  const { receiver, send } = await mount({ handlers: [later, all] });
  const [call, order] = [newBody(), newBody("order.created")];
  for (const body of [call, order]) await send(body);
  const look = async (body: Buffer) => receiver.handled(idOf(body));
  await expect.poll(async () => look(call)).toEqual({ handled: 1, state: "done" });
  const deferred = { handled: 0, state: "waiting", deferred_until: expect.stringMatching(FAR.slice(0, 16)) };
  await expect.poll(async () => look(order)).toEqual(deferred);
  expect(await receiver.handled(newEventId())).toEqual({ handled: 0 });
});

test("a receiver whose file was moved answers nothing and ends the process of its app", async () => {
  const exit = vi.spyOn(process, "exit").mockImplementation((() => undefined) as never);
  onTestFinished(() => exit.mockRestore());
  const url = databaseUrl();
  const lines: string[] = [];
  const environment = { SHUTDOWN_TIMEOUT_SECONDS: "1" };
  const { send } = await mount({ databaseUrl: url, environment, logTo: (line) => void lines.push(line) });
  renameSync(url.slice("sqlite:".length), `${url.slice("sqlite:".length)}-moved`);
  void send();
  await expect.poll(() => exit.mock.calls).toEqual([[1]]);
  expect(lines.join("")).toMatch(/"level":"fatal".*was moved/);
});
