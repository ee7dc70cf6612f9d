import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { Body } from "../../../receiver/intake/body.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { compose, startReceiver } from "../../../receiver/receiver.ts";
import { stoppedTimers } from "../helpers/clock.ts";
import { get, newBody, signatureFor } from "../helpers/events.ts";
import { testConfig } from "../helpers/receiver.ts";
import { until } from "../helpers/until.ts";
import { openInbox } from "../operations/inbox.ts";

/** How the parts of the receiver are put together; the handlers' process is controlled by the tests. */

const log = createLog({ level: "silent" });

test("in the role worker only the admin port is open, and the death of the process is counted and its job named", async () => {
  const store = await openInbox({ "log-call": "call.completed", crm: "call.completed" });
  const id = await store.stored();
  await store.jobs.claim("log-call", 1);
  await store.stored();
  const child = Object.assign(new EventEmitter(), { connected: false }) as unknown as ChildProcess;
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const options = {
    config: testConfig({ RECEIVER_ROLE: "worker" }),
    store,
    clock: systemClock,
    log: createLog({ level: "info", destination }),
    environment: () => ({}),
    fork: () => child,
  };
  const { url, adminUrl, stop } = await startReceiver(options);
  expect([url, JSON.parse(lines[0]!)]).toMatchObject([undefined, { msg: "working", admin_url: adminUrl }]);
  expect((await get(`${adminUrl}/readyz`)).status).toBe(503);
  child.emit("message", { kind: "ready", files: {} });
  expect((await get(`${adminUrl}/readyz`)).status).toBe(200);
  child.emit("close", 1, null);
  await until(() => lines.length > 1);
  expect(JSON.parse(lines[1]!)).toMatchObject({ level: "error", handler: "log-call", event_id: id });
  expect(await (await get(`${adminUrl}/metrics`)).text()).toContain("receiver_worker_restarts_total 1\n");
  await stop();
});

test("a stored event wakes the worker; a stop waits for requests and handlers until 2.5 s before its limit", async () => {
  const [store, clock] = [await openInbox(), stoppedTimers()];
  const called: unknown[] = [];
  const startWork = async () => ({
    wake: () => void called.push("wake"),
    status: () => ({ state: "working" }) as const,
    stop: async (graceMs: number) => void called.push(graceMs),
  });
  const config = testConfig({ SHUTDOWN_TIMEOUT_SECONDS: "10" });
  const { webhook, drain, close } = await compose({ config, store, clock, log, startWork });
  const send = () => {
    const [bytes, body] = [newBody(), Promise.withResolvers<Body>()];
    const common = {
      method: "POST",
      path: "/",
      id: undefined,
      header: () => null,
      framework: "node",
    } as const;
    const request = { ...common, signatures: [signatureFor(bytes)], readBody: async () => body.promise };
    void webhook(request, ({ status }) => called.push(status));
    return () => body.resolve({ ok: true, bytes });
  };
  const complete = send();
  send();
  let isDrained = false;
  const drained = drain().then(() => (isDrained = true));
  expect(called).toEqual([7_500]);
  complete();
  await until(() => called.length === 3);
  send();
  await setImmediate();
  expect(called).toEqual([7_500, "wake", 200, 503]);
  await clock.pass(7_499);
  expect(isDrained).toBe(false);
  await clock.pass(1);
  await drained;
  await close();
  // The watch of the disk ends, too.
  await clock.pass(2_000);
  expect(clock.waiting()).toBe(0);
});
