import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../../simulator/service/compose.ts";
import { startService, type Json } from "../../helpers/service.ts";
import { emit, nextEntry, register } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

type Send = NonNullable<SimulatorOptions["send"]>;

test("the history counts each attempt in its own period, even of an old delivery", async () => {
  let made = 0;
  const wall = createVirtualWall();
  const send: Send = () => {
    made += 1;
    return Promise.resolve({ outcome: { status: made % 3 === 0 ? 200 : 500 }, durationMs: 100 * made });
  };
  const { ask, simulator } = await startService({ clock: "manual", calls: 0, wall, send });
  register(simulator, "http://localhost:9/");
  const beganMs = simulator.clock.now();
  for (let hour = 0; hour < 20; hour += 1) {
    emit(simulator);
    await simulator.clock.advance(3_600);
  }
  const whole = (await ask("GET", "/deliveries")).body.data ?? [];
  const attempts = whole.flatMap((delivery) => delivery.attempts ?? []);
  for (const [since, until] of [
    [0, 20],
    [5, 6],
    [13, 19],
    [16, 20],
  ] as const) {
    const [fromMs, toMs] = [beganMs + since * 3_600_000 + (since % 2), beganMs + until * 3_600_000];
    const period = { since: new Date(fromMs).toISOString(), until: new Date(toMs).toISOString() };
    const { body } = await ask("GET", `/history?${new URLSearchParams(period).toString()}`);
    const slots = body["slots"] as Json[];
    expect(slots.length).toBeLessThanOrEqual(60);
    const slotMs = Number(body["slot_seconds"]) * 1_000;
    const expected = slots.map((_, index) => {
      const meant = attempts.filter(
        ({ started_at: at }) =>
          Math.floor((Date.parse(String(at)) - fromMs) / slotMs) === index && Date.parse(String(at)) <= toMs,
      );
      const took = meant.map(({ duration_ms: ms }) => Number(ms));
      const acknowledged = meant.filter(({ http_status: status }) => status === 200).length;
      return {
        started_at: new Date(fromMs + index * slotMs).toISOString(),
        sent: meant.length,
        acknowledged,
        failed: meant.length - acknowledged,
        mean_ms: took.length === 0 ? null : Math.round(took.reduce((sum, ms) => sum + ms, 0) / took.length),
        longest_ms: took.length === 0 ? null : Math.max(...took),
      };
    });
    expect(slots).toEqual(expected);
  }
});

test("the history's mean covers only ended attempts", async () => {
  const send: Send = ({ url, signal }) => {
    if (!url.endsWith("/held")) return Promise.resolve({ outcome: { status: 200 }, durationMs: 100 });
    const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<Send>>>();
    signal.addEventListener("abort", () => resolve({ outcome: { error: "interrupted" }, durationMs: 1 }));
    return promise;
  };
  const { ask, simulator } = await startService({ clock: "manual", calls: 0, send });
  for (const path of ["held", ""]) register(simulator, `http://localhost:9/${path}`);
  const ended = nextEntry(simulator, ({ kind }) => kind === "attempt.ended");
  emit(simulator);
  await ended;
  const [slot] = (await ask("GET", "/history")).body["slots"] as Json[];
  expect(slot).toMatchObject({ sent: 2, acknowledged: 1, failed: 0, mean_ms: 100 });
});

test("the history finds an attempt of a delivery older than two thousand others", async () => {
  const send: Send = ({ url }) => {
    const isOld = url.endsWith("/old");
    return Promise.resolve({ outcome: { status: isOld ? 500 : 200 }, durationMs: isOld ? 100 : 500 });
  };
  const { ask, simulator } = await startService({ clock: "manual", calls: 0, concurrency: 1_000, send });
  register(simulator, "http://localhost:9/old", { eventTypes: ["voicemail.created"] });
  register(simulator, "http://localhost:9/", { eventTypes: ["call.completed"] });
  emit(simulator, "voicemail.created");
  // Its fifth attempt is made when the others are.
  await simulator.clock.advance(60 + 300 + 1_800 + 7_200);
  emit(simulator, "call.completed", 2_000);
  await simulator.settled();
  const { body } = await ask("GET", "/history?since=5s");
  const slots = body["slots"] as Json[];
  const sum = (name: string) => slots.reduce((total, slot) => total + Number(slot[name]), 0);
  expect(["sent", "acknowledged", "failed"].map(sum)).toEqual([2_001, 2_000, 1]);
  expect(slots.map((slot) => slot["longest_ms"])).toEqual([null, null, null, null, null, 500]);
  expect(body["deliveries"]).toEqual({ attempting: 0, delivered: 2_000, dead: 0 });
});
