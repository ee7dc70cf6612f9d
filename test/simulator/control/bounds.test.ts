import { expect, test } from "vitest";
import { SCHEDULE_SECONDS } from "../../../simulator/domain/retry-policy.ts";
import { verify } from "../../../shared/signature.ts";
import type { SimulatorOptions } from "../../../simulator/service/compose.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { freePort } from "../../helpers/free-port.ts";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { startService, type Json } from "../../helpers/service.ts";
import { emit, emitOne, nextEntry, register } from "../../helpers/simulator.ts";
import { run } from "../commands/in-process.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

/** The limits of lists and of input of the control API: the last allowed value, and the first refused one. */

type Send = NonNullable<SimulatorOptions["send"]>;
const answering = (status: () => number): Send => {
  return () => Promise.resolve({ outcome: { status: status() }, durationMs: 7 });
};

test("an endpoint's newest 48 answers are listed, without open attempts, and its figures leave out faults", async () => {
  let made = 0;
  const held = Promise.withResolvers<{ outcome: { error: "interrupted" }; durationMs: number }>();
  const wall = createVirtualWall();
  const send: Send = ({ signal }) => {
    wall.pass(1);
    made += 1;
    signal.addEventListener("abort", () =>
      held.resolve({ outcome: { error: "interrupted" }, durationMs: 1 }),
    );
    if (made > 60) return held.promise;
    return Promise.resolve({ outcome: { status: made % 2 === 0 ? 204 : 500 }, durationMs: made });
  };
  const { ask, simulator } = await startService({ clock: "manual", send, wall });
  const { id } = register(simulator, "http://localhost:9/");
  const other = register(simulator, "http://localhost:9/other", { eventTypes: ["order.created"] });
  for (let count = 0; count < 60; count += 1) {
    const faults = count < 58 ? [] : [{ name: "bad-signature" } as const];
    simulator.events.emit({ type: "call.completed", faults });
    await simulator.settled();
  }
  emit(simulator);
  await expect.poll(() => made).toBe(61);

  const { body } = await ask("GET", `/endpoints/${id}/answers`);
  const durations = (body.attempts ?? []).map(({ duration_ms: tookMs }) => Number(tookMs));
  expect(durations).toEqual(Array.from({ length: 48 }, (_, index) => index + 13));
  // Of the two with a fault one failed, because of the fault; the other was accepted.
  expect(body).toMatchObject({ object: "answers", counted: 59, acknowledged: 30, p95_ms: 57 });
  expect((await ask("GET", `/endpoints/${other.id}/answers`)).body).toEqual({
    object: "answers",
    counted: 0,
    acknowledged: 0,
    p95_ms: null,
    attempts: [],
  });
  expect((await ask("GET", "/endpoints/ep_none/answers")).status).toBe(404);
});

test("the list of upcoming attempts reaches to the end of the schedule by default, its last moment included", async () => {
  const { ask, simulator } = await startService({ clock: "manual", send: answering(() => 500) });
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

test("an attempt that was made can be signed again as it would be now", async () => {
  const wall = createVirtualWall();
  const { ask, simulator } = await startService({ clock: "manual", wall, send: answering(() => 500) });
  const { id: endpointId, secret } = register(simulator, "http://localhost:9/hooks?a=1");
  const faults = [{ name: "bad-signature", attempts: 1 } as const];
  simulator.events.emit({ type: "call.completed", faults });
  await simulator.clock.advance(3_600);
  wall.pass(5_000);
  const [delivery] = simulator.deliveries.page({ limit: 1 }).deliveries;
  const path = `/deliveries/${delivery?.id ?? ""}/sign`;
  const signed = async (attempt: number) => {
    const { body } = await ask("POST", path, { attempt });
    expect(body).toMatchObject({ object: "request", url: "http://localhost:9/hooks?a=1" });
    expect(body["line"]).toBe("POST /hooks?a=1 HTTP/1.1");
    const { "x-service-signature": header = "" } = body["headers"] as Record<string, string>;
    const nowSeconds = Math.floor(wall.nowMs() / 1_000);
    expect(header).toMatch(new RegExp(`^t=${nowSeconds},`));
    const bytes = Buffer.from(String(body["body"]));
    return verify({ headers: [header], body: bytes, secrets: [secret], nowSeconds }).ok;
  };
  expect([await signed(1), await signed(2), await signed(4)]).toEqual([false, true, true]);
  expect(await ask("POST", path, { attempt: 5 })).toMatchObject({
    status: 404,
    body: { message: `${delivery?.id} has no attempt 5: 4 were made so far.` },
  });
  for (const attempt of [0, 7, 1.5]) expect((await ask("POST", path, { attempt })).status).toBe(400);
  await ask("DELETE", `/endpoints/${endpointId}`);
  expect(await ask("POST", path, { attempt: 1 })).toMatchObject({
    status: 409,
    body: {
      error: "endpoint_deleted",
      message: `The endpoint ${endpointId} was deleted, and its secret with it.`,
    },
  });
});

test("verify runs on one receiver at a time, and on another machine only if that was allowed", async () => {
  const receiver = await startEndpoint(() => {});
  const { ask, simulator } = await startService({ allowedHosts: ["localhost.test"] });
  const run = (id: string, body: object = { only: ["acknowledgement"] }) =>
    ask("POST", `/endpoints/${id}/verify`, body);
  const beyond = register(simulator, "https://example.com/hooks").id;
  expect(await run(beyond)).toMatchObject({
    status: 400,
    body: {
      error: "invalid_request",
      message: expect.stringMatching(
        /to this machine only, and example\.com is another: start the simulator with --allow-host example\.com if/,
      ),
    },
  });
  const { id } = register(simulator, receiver.url);
  expect(await run("ep_none")).toMatchObject({ status: 404, body: { error: "not_found" } });
  expect(await run(id, { only: ["nothing"] })).toMatchObject({ status: 400 });
  expect(await run(id, { only: [] })).toMatchObject({ status: 400 });
  expect((await ask("GET", "/verification")).body).toEqual({
    object: "verification_state",
    verification: null,
  });
  expect((await run(id)).status).toBe(202);
  expect(await run(id)).toMatchObject({
    status: 409,
    body: {
      error: "already_running",
      message: `${receiver.url} is being verified: cancel that, or wait until it ends.`,
    },
  });
  const cancel = async () => (await ask("POST", "/verification/cancel", {})).body["canceled"];
  expect([await cancel(), await cancel()]).toEqual([true, false]);
  expect((await ask("GET", "/verification")).body["verification"]).toMatchObject({
    endpoint_id: id,
    state: "ended",
    verdict: "incomplete",
    incomplete: "It was interrupted.",
  });
  // Sending to an allowed host is permitted; the run reports that this name does not exist.
  const named = register(simulator, "http://localhost.test:9/").id;
  expect((await run(named)).status).toBe(202);
  await ask("POST", "/verification/cancel", {});
});

test("the API says what is observed, and the operator page of the kit's receiver", async () => {
  const { ask, simulator } = await startService({ send: answering(() => 200) });
  const about = async () => (await ask("GET", "/about")).body;
  expect(await about()).toMatchObject({ is_observed: false, operator_page: null });
  const reading = () => Promise.resolve({ known: true as const, count: 1 });
  for (const [urlTemplate, page] of [
    ["http://127.0.0.1:3001/inbox/{id}", "http://127.0.0.1:3001/event?id={id}"],
    ["http://127.0.0.1:3001/handled/{id}", null],
  ] as const) {
    simulator.verdicts.observe(Object.assign(reading, { urlTemplate }));
    expect(await about()).toMatchObject({ is_observed: true, operator_page: page });
  }
});

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

test("a URL is stored in its normal form, whether it is registered or changed", async () => {
  const { ask } = await startService();
  for (const [given, kept] of [
    ["HTTP://LOCALHOST:3000", "http://localhost:3000/"],
    ["http://localhost:80/a b?x=1", "http://localhost/a%20b?x=1"],
    ["https://EXAMPLE.com:443/./in", "https://example.com/in"],
  ] as const) {
    const added = (await ask("POST", "/endpoints", { url: given })).body;
    expect(added["url"]).toBe(kept);
    const path = `/endpoints/${String(added["id"])}`;
    await ask("PATCH", path, { url: "http://localhost:9/other" });
    expect((await ask("PATCH", path, { url: given })).body["url"]).toBe(kept);
    expect((await ask("GET", path)).body["url"]).toBe(kept);
  }
});

test.each([
  [
    { known: true, count: 1, state: "done", duplicates: 2 },
    { handled: 1, duplicates: 2, state: "done" },
  ],
  [
    { known: true, count: 0, state: "waiting" },
    { handled: 0, duplicates: null, state: "waiting" },
  ],
] as const)(
  "a receiver's report of an event is shown with its delivery, and whether it is final: %j",
  async (reading, shown) => {
    const wall = createVirtualWall();
    const { ask, simulator } = await startService({ clock: "manual", wall, send: answering(() => 200) });
    register(simulator, "http://localhost:9/");
    simulator.verdicts.observe(() => Promise.resolve(reading));
    const id = emitOne(simulator);
    await simulator.settled();
    const handling = async () => (await ask("GET", `/deliveries/${id}`)).body["handling"];
    expect(await handling()).toBeNull();
    for (const [looks, isSettled] of [
      [[60], false],
      [[240, 700, 2_000], reading.count > 0],
      [[5_000, 12_000], true],
    ] as const) {
      for (const ms of looks) {
        wall.pass(ms);
        await loopTurns(3);
      }
      expect(await handling()).toEqual({ ...shown, is_settled: isSettled });
    }
  },
);

test("an address is checked before registration: whether it is allowed, and whether a server listens there", async () => {
  const receiver = await startEndpoint();
  const { ask } = await startService();
  const nobody = `http://localhost:${await freePort()}/in`;
  for (const [given, durations] of [
    [receiver.url, { ok: true, url: receiver.url, is_listening: true }],
    [nobody, { ok: true, url: nobody, is_listening: false }],
    ["HTTPS://Example.com", { ok: true, url: "https://example.com/", is_listening: null }],
    [
      "http://example.com/",
      { ok: false, message: expect.stringContaining("is for localhost only") as string },
    ],
  ] as const)
    expect((await ask("POST", "/endpoints/check", { url: given })).body).toEqual(durations);
  expect(receiver.received).toEqual([]);
  expect((await ask("GET", "/endpoints")).body.data).toEqual([]);
});

test("if a simulator requires its token, the commands send the one that they are given", async () => {
  const token = "0123456789abcdef";
  const { port } = await startService({ clock: "manual" }, { host: "0.0.0.0", token });
  for (const command of ["deliveries", "trigger call.completed"]) {
    const words = [...command.split(" "), "--simulator", `http://localhost:${port}`];
    expect((await run(...words, "--token", token)).code).toBe(0);
    const { code, out, err } = await run(...words, "--token", "0123456789abcdeX");
    expect(code).toBe(2);
    expect(`${out}${err}`).toContain("needs its token: send Authorization");
  }
});
