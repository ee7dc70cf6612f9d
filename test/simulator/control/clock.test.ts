import { describe, expect, test } from "vitest";
import { SCHEDULE_SECONDS } from "../../../simulator/domain/retry-policy.ts";
import type { SimulatorOptions } from "../../../simulator/service/compose.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { firstId, startService } from "../../helpers/service.ts";
import { answering, emitOne, register } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";
import { time } from "./answers.ts";

describe("the clock", () => {
  test("is shown, advanced, and changed in mode", async () => {
    const endpoint = await startEndpoint(500);
    const { ask } = await startService({ clock: "manual" });
    await ask("POST", "/endpoints", { url: endpoint.url });
    await ask("POST", "/events", { type: "call.completed" });
    const view = (more: object) => ({
      object: "clock",
      mode: "manual",
      now: time,
      wall_now: time,
      next_attempt_at: time,
      deliveries: { attempting: 1, delivered: 0, dead: 0 },
      lost: 0,
      verdicts: {
        is_observed: false,
        counts: [{ endpoint_id: expect.any(String), meant: "honest", result: "not", count: 1 }],
      },
      ...more,
    });
    expect((await ask("POST", "/clock/advance", { seconds: 0 })).body).toEqual(view({}));
    expect(endpoint.received).toHaveLength(1);
    await ask("POST", "/clock/advance", { until: "next" });
    expect(endpoint.received).toHaveLength(2);
    const idle = await ask("POST", "/clock/advance", { until: "idle" });
    expect(endpoint.received).toHaveLength(6);
    const settled = { attempting: 0, delivered: 0, dead: 1 };
    expect(idle.body).toEqual(view({ next_attempt_at: null, deliveries: settled, lost: 1 }));
    expect((await ask("PATCH", "/clock", { mode: "skip" })).body).toMatchObject({ mode: "skip" });
    expect((await ask("GET", "/clock")).body).toMatchObject({ mode: "skip", deliveries: settled });
  });

  test("refuses unknown steps and modes with a message", async () => {
    const { ask } = await startService({ clock: "manual" });
    const wrong = [{}, { seconds: -1 }, { seconds: "60" }, { seconds: 366 * 86_400 + 1 }];
    for (const body of [...wrong, { until: "tomorrow" }, { seconds: 1, until: "idle" }])
      expect(await ask("POST", "/clock/advance", body)).toMatchObject({
        status: 400,
        body: { error: "invalid_request", message: expect.stringContaining('{ "until": "next" }') },
      });
    expect(await ask("PATCH", "/clock", { mode: "fast" })).toMatchObject({ status: 400 });
  });
});

test("a stop in the middle of an advance is no bug", async () => {
  const { ask, server, simulator } = await startService({ clock: "manual" });
  const stopped = Promise.withResolvers<void>();
  const silent = await startEndpoint(() => stopped.resolve(server.close().then(simulator.close)));
  register(simulator, silent.url);
  emitOne(simulator);
  await expect(ask("POST", "/clock/advance", { until: "idle" })).rejects.toThrow(
    /fetch failed|closed|ECONNRESET/,
  );
  await stopped.promise;
});

test("each time that is shown is of the stated clock, and each figure of its own attempt", async () => {
  const wall = createVirtualWall();
  const sent: { body: Buffer; headers: Record<string, string> }[] = [];
  const send: SimulatorOptions["send"] = async ({ body, headers }) => {
    sent.push({ body, headers });
    const durationMs = sent.length === 1 ? 10_000 : 250;
    wall.pass(durationMs);
    return sent.length === 1
      ? { outcome: { error: "timeout", detail: "too late" }, durationMs }
      : {
          outcome: { status: 204 },
          durationMs,
          answer: { headers: { a: "b" }, body: Buffer.from("c"), truncated: true },
        };
  };
  const { simulator, ask } = await startService({ clock: "manual", wall, send });
  const wallMs = wall.nowMs();
  const scheduleMs = simulator.clock.now() + 7_200_000;
  const iso = (ms: number): string => new Date(ms).toISOString();
  await simulator.clock.advance(3_600);
  const endpoint = await ask("POST", "/endpoints", { url: "http://localhost:9/hooks" });
  expect(endpoint.body).toMatchObject({ created_at: iso(scheduleMs - 3_600_000) });
  await simulator.clock.advance(3_600);
  const emitted = await ask("POST", "/events", { type: "order.created", faults: ["delay"] });
  const id = firstId(emitted.body["deliveries"]);
  await simulator.clock.advance(45);
  const due = await ask("GET", "/clock/ahead");
  const next = { kind: "attempt", attempt: 2, event_type: "order.created", count: 1 };
  expect(due.body.data).toMatchObject([{ ...next, due_at: iso(scheduleMs + 90_000), delivery_id: id }]);
  expect((await ask("GET", `/deliveries/${id}`)).body).toMatchObject({
    state: "attempting",
    created_at: iso(scheduleMs),
    next_attempt_at: iso(scheduleMs + 90_000),
  });
  wall.pass(1_000);
  await simulator.clock.advance(60);

  const { body } = await ask("GET", `/deliveries/${id}`);
  expect(body).toMatchObject({ state: "delivered", created_at: iso(scheduleMs), next_attempt_at: null });
  const attempt = (number: number, startedMs: number, wallStartedMs: number, more: object) => ({
    number,
    scheduled_at: iso(startedMs),
    started_at: iso(startedMs),
    ended_at: iso(startedMs),
    wall_started_at: iso(wallStartedMs),
    signature_timestamp: Math.floor(wallStartedMs / 1_000),
    fault: null,
    ...more,
  });
  expect(body.attempts).toMatchObject([
    attempt(1, scheduleMs + 30_000, wallMs, {
      duration_ms: 10_000,
      http_status: null,
      error: "timeout",
      error_detail: "too late",
      blame: "receiver",
      answer: null,
    }),
    attempt(2, scheduleMs + 90_000, wallMs + 11_000, {
      duration_ms: 250,
      http_status: 204,
      error: null,
      error_detail: null,
      blame: null,
      answer: { headers: { a: "b" }, body: "c", truncated: true },
    }),
  ]);
  for (const [index, made] of (body.attempts ?? []).entries()) {
    expect(made["request"]).toEqual({
      url: "http://localhost:9/hooks",
      line: "POST /hooks HTTP/1.1",
      headers: sent[index]?.headers,
      body: sent[index]?.body.toString(),
    });
  }
  expect(String(sent[0]?.body)).toContain(`"created":${Math.floor(scheduleMs / 1_000)},`);
  const event = await ask("GET", `/events/${String(body["event_id"])}`);
  expect(event.body).toMatchObject({ created_at: iso(scheduleMs), type: "order.created", origin: "trigger" });
  expect((await ask("GET", "/clock")).body).toMatchObject({
    now: iso(scheduleMs + 105_000),
    wall_now: iso(wallMs + 11_250),
    next_attempt_at: null,
  });
});

test("the list of upcoming attempts reaches to the end of the schedule by default, its last moment included", async () => {
  const { ask, simulator } = await startService({ clock: "manual", send: answering(500) });
  register(simulator, "http://localhost:9/");
  emitOne(simulator);
  await simulator.clock.advance(60 + 300 + 1_800 + 7_200);
  const due = async (query = "") => (await ask("GET", `/clock/ahead${query}`)).body.data ?? [];
  expect(await due()).toMatchObject([{ kind: "attempt", attempt: 6 }]);
  expect(await due("?seconds=43200")).toHaveLength(1);
  expect(await due("?seconds=43199")).toEqual([]);
  const far = { name: "far", summary: "Far.", steps: [SCHEDULE_SECONDS, SCHEDULE_SECONDS + 1].map(step) };
  await ask("POST", "/scenarios", far);
  await ask("POST", "/scenarios/far", {});
  expect((await due()).map(({ kind }) => kind)).toEqual(["attempt", "step"]);
  for (const seconds of ["-1", "31622401", "soon"])
    expect((await ask("GET", `/clock/ahead?seconds=${seconds}`)).status, seconds).toBe(400);
});

function step(seconds: number) {
  return { after_seconds: seconds, type: "call.completed" };
}
