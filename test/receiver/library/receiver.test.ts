import { spawnSync } from "node:child_process";
import { existsSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { defineHandler, type ReceiverOptions } from "../../../receiver/index.ts";
import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { idOf, newBody, newEventId, SECRET, signatureFor } from "../helpers/events.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { databaseUrl, mount } from "./mount.ts";

/** A receiver in an app: its start, answers and stop. */

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
