import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../../simulator/compose.ts";
import { startService } from "../../helpers/service.ts";
import { emit, register } from "../../helpers/simulator.ts";
import { run } from "../commands/in-process.ts";

/** A receiver that fails until it is mended, and the clock in hand. */
async function startWithFailures() {
  let status = 503;
  const send: SimulatorOptions["send"] = () => Promise.resolve({ outcome: { status }, durationMs: 1 });
  const service = await startService({ clock: "manual", calls: 0, send });
  const { simulator } = service;
  const one = register(simulator, "http://localhost:1/one", { eventTypes: ["order.created"] });
  const all = register(simulator, "http://localhost:1/all");
  const [order = ""] = emit(simulator, "order.created");
  const [voicemail = ""] = emit(simulator, "voicemail.created");
  await simulator.clock.advance(86_400);
  return { ...service, one, all, order, voicemail, mend: () => (status = 200) };
}

const RESEND = "/deliveries/resend";

test("a dry run counts what would be sent to whom, and sends nothing", async () => {
  const { ask, simulator, one, all } = await startWithFailures();
  const { status, body } = await ask("POST", RESEND, { dry_run: true });
  expect(status).toBe(200);
  expect(body).toMatchObject({ data: [], total: 3, has_more: false });
  expect(body.counts).toHaveLength(3);
  expect(body.counts).toEqual(
    expect.arrayContaining([
      { endpoint_id: one.id, event_type: "order.created", count: 1 },
      { endpoint_id: all.id, event_type: "order.created", count: 1 },
      { endpoint_id: all.id, event_type: "voicemail.created", count: 1 },
    ]),
  );
  expect(simulator.counts.deliveries().total).toBe(3);
});

test("what is recovered goes out in the order in which it came, and what its endpoint took along is not lost", async () => {
  const { ask, simulator, mend } = await startWithFailures();
  const { body: before } = await ask("GET", "/deliveries");
  const oldestFirst = (before.data ?? []).map(({ id }) => id).toReversed();
  const lost = async () => {
    const [clock, history] = await Promise.all([ask("GET", "/clock"), ask("GET", "/history")]);
    return [clock.body["lost"], history.body["lost"]];
  };
  expect(await lost()).toEqual([3, 3]);
  mend();
  const { body } = await ask("POST", RESEND, {});
  expect((body.data ?? []).map((sent) => sent["resend_of"])).toEqual(oldestFirst);
  await simulator.settled();
  expect(await lost()).toEqual([0, 0]);

  const other = await startWithFailures();
  expect((await other.ask("GET", "/clock")).body["lost"]).toBe(3);
  await other.ask("DELETE", `/endpoints/${other.all.id}`);
  expect((await other.ask("GET", "/clock")).body["lost"]).toBe(1);
  expect((await other.ask("GET", "/history")).body).toMatchObject({ deliveries: { dead: 3 }, lost: 1 });
});

test("each filter narrows what is sent, two of them more than one", async () => {
  const { ask, all, order } = await startWithFailures();
  const totalOf = async (filter: object) => {
    const { body } = await ask("POST", RESEND, { ...filter, dry_run: true });
    return Number(body.total);
  };
  expect(await totalOf({ type: "order.created" })).toBe(2);
  expect(await totalOf({ endpoint_id: all.id })).toBe(2);
  expect(await totalOf({ type: "order.created", endpoint_id: all.id })).toBe(1);
  expect(await totalOf({ q: order })).toBe(1);
  expect(await totalOf({ verdict: "not" })).toBe(3);
  expect(await totalOf({ state: "delivered" })).toBe(0);
  expect(await totalOf({ state: "failed" })).toBe(3);
  expect(await totalOf({ since: "1h" })).toBe(0);
  expect(await totalOf({ since: "2d", until: "1h" })).toBe(3);
  expect(await totalOf({ until: "2d" })).toBe(0);
  // A bare number would be a year, or any period.
  for (const since of ["yesterday", "90", "90.5", "march 90", 90])
    expect(await ask("POST", RESEND, { since })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining("with its unit: 90s, 90m, 1h") },
    });
  for (const path of ["/deliveries?since=90", "/deliveries?q=after:90", "/history?until=90"])
    expect((await ask("GET", path)).status, path).toBe(400);
});

test("what was recovered says by which delivery, is right again, and is not lost any more", async () => {
  const { ask, simulator, mend } = await startWithFailures();
  const lost = async () => (await ask("GET", "/deliveries?state=lost")).body.data as { id: string }[];
  expect(await lost()).toHaveLength(3);
  mend();
  const { status, body } = await ask("POST", RESEND, { type: "voicemail.created" });
  expect([status, body.total]).toEqual([202, 1]);
  await simulator.settled();
  const [again] = body.data as { id: string; resend_of: string }[];
  const { body: original } = await ask("GET", `/deliveries/${again?.resend_of ?? ""}`);
  expect(original).toMatchObject({
    state: "dead",
    recovered_by: again?.id,
    verdict: { result: "ok", sentence: "Gave up, recovered by a later delivery" },
  });
  expect(await lost()).toHaveLength(2);
  const { body: not } = await ask("GET", "/deliveries?verdict=not");
  expect(not.data).toHaveLength(2);
  expect((await ask("POST", RESEND, { type: "voicemail.created" })).body.total).toBe(0);
});

test("of several that recovered it the first is named, and since and until begin and end at their moments", async () => {
  const { ask, simulator, voicemail, mend } = await startWithFailures();
  mend();
  const again: string[] = [];
  for (let time = 0; time < 2; time += 1) {
    await simulator.clock.advance(60);
    again.push(String((await ask("POST", `/deliveries/${voicemail}/resend`, {})).body["id"]));
    await simulator.settled();
  }
  expect((await ask("GET", `/deliveries/${voicemail}`)).body).toMatchObject({ recovered_by: again[0] });
  const { body: first } = await ask("GET", `/deliveries/${String(again[0])}`);
  const { body: second } = await ask("GET", `/deliveries/${String(again[1])}`);
  const ids = async (search: string) =>
    (await ask("GET", `/deliveries?${search}`)).body.data?.map(({ id }) => id);
  expect(await ids(`since=${String(second["created_at"])}`)).toEqual([again[1]]);
  expect(await ids(`since=${String(first["created_at"])}`)).toEqual([again[1], again[0]]);
  expect(await ids(`until=${String(second["created_at"])}`)).not.toContain(again[1]);
  expect(await ids(`since=${String(first["created_at"])}&until=${String(second["created_at"])}`)).toEqual([
    again[0],
  ]);
});

test("what still waits for its next attempt is tried now, not sent twice", async () => {
  let status = 503;
  const send: SimulatorOptions["send"] = () => Promise.resolve({ outcome: { status }, durationMs: 1 });
  const { ask, simulator } = await startService({ clock: "manual", calls: 0, send });
  register(simulator, "http://localhost:1/");
  const [id] = emit(simulator);
  await simulator.settled();
  expect((await ask("GET", "/deliveries?state=failed")).body.data).toHaveLength(1);
  expect((await ask("POST", RESEND, {})).body.total).toBe(0);
  status = 200;
  const { body } = await ask("POST", RESEND, { state: "failed" });
  expect((body.data as { id: string }[]).map((one) => one.id)).toEqual([id]);
  await simulator.settled();
  expect(simulator.counts.deliveries().byState).toEqual({ attempting: 0, delivered: 1, dead: 0 });
});

/** A receiver that holds back its answer: `begun` resolves with the first attempt. */
function holdAnswer() {
  const begun = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<{ outcome: { status: number }; durationMs: number }>();
  const send: SimulatorOptions["send"] = () => {
    begun.resolve();
    return answered.promise;
  };
  const answer = (status: number) => answered.resolve({ outcome: { status }, durationMs: 1 });
  return { begun: begun.promise, answer, send };
}

test("an attempt under way has not failed, in no list and in no sum", async () => {
  const { begun, answer, send } = holdAnswer();
  const { ask, simulator } = await startService({ clock: "manual", calls: 0, send });
  register(simulator, "http://localhost:1/");
  emit(simulator);
  await begun;
  const seen = async () => {
    const [list, history] = await Promise.all([
      ask("GET", "/deliveries?state=failed"),
      ask("GET", "/history"),
    ]);
    const slots = (history.body["slots"] ?? []) as { sent: number; failed: number }[];
    const sum = (name: "sent" | "failed") => slots.reduce((total, slot) => total + slot[name], 0);
    return { listed: list.body.data?.length, sent: sum("sent"), failed: sum("failed") };
  };
  expect(await seen()).toEqual({ listed: 0, sent: 1, failed: 0 });
  answer(503);
  await simulator.settled();
  expect(await seen()).toEqual({ listed: 1, sent: 1, failed: 1 });
});

test.each(["manual", "skip"] as const)(
  "a reset waits for what is under way, and for no retry: %s",
  async (clock) => {
    const { begun, answer, send } = holdAnswer();
    const { ask, simulator } = await startService({ clock, calls: 0, send });
    register(simulator, "http://localhost:1/");
    emit(simulator);
    await begun;
    const reset = ask("POST", "/reset", {});
    answer(503);
    expect((await reset).status).toBe(200);
    expect(simulator.counts.deliveries().total).toBe(0);
  },
);

test("a watcher is told that the original changed when it was recovered", async () => {
  const { ask, simulator, voicemail, mend } = await startWithFailures();
  const told = new Set<string>();
  simulator.journal.watch((entry) => {
    if (entry.kind === "delivery.changed") told.add(entry.deliveryId);
  });
  mend();
  await ask("POST", RESEND, { type: "voicemail.created" });
  await simulator.settled();
  simulator.verdicts.counts();
  expect(told).toContain(voicemail);
});

test("the shell sends again by ids or by what they have in common, and says what it would do", async () => {
  const { url, voicemail, order, mend } = await startWithFailures();
  const resend = (...words: string[]) => run("deliveries", "resend", ...words, "--simulator", url);
  const dry = await resend("--state", "lost", "--type", "order.created", "--since", "2d", "--dry-run");
  expect([dry.code, dry.out.match(/1 order\.created to ep_/g)?.length]).toEqual([0, 2]);
  expect(dry.err).toContain("2 would be sent again; nothing was sent.");
  mend();
  const byId = await resend(voicemail, order);
  expect(byId.out.match(/Sent again as dlv_/g)).toHaveLength(2);
  const rest = await resend("--state", "failed");
  expect(rest.err).toContain("1 sent again.");
  expect((await resend("--state", "lost")).err).toContain("No delivery matches");
  const neither = await resend();
  expect([neither.code, neither.err]).toEqual([2, expect.stringContaining("--state lost")]);
  expect((await resend(voicemail, "--state", "lost")).err).toContain("not both");
});
