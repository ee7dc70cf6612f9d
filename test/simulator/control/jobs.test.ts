import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../../simulator/service/compose.ts";
import { control } from "../../helpers/control.ts";
import { startService } from "../../helpers/service.ts";
import { emit, openSimulator, register, resendAll, temporaryDirectory } from "../../helpers/simulator.ts";
import { run } from "../commands/in-process.ts";

/** A receiver that fails until it is fixed, and a manual clock. */
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
  return { ...service, one, all, order, voicemail, fix: () => (status = 200) };
}

const RESEND = "/deliveries/resend";

test("a dry run counts what would be sent to whom, and sends nothing", async () => {
  const { ask, simulator, one, all } = await startWithFailures();
  const { status, body } = await ask("POST", RESEND, { state: "lost", dry_run: true });
  expect([status, body["total"]]).toEqual([200, 3]);
  expect(body["counts"]).toHaveLength(3);
  expect(body["counts"]).toEqual(
    expect.arrayContaining([
      { endpoint_id: one.id, event_type: "order.created", count: 1 },
      { endpoint_id: all.id, event_type: "order.created", count: 1 },
      { endpoint_id: all.id, event_type: "voicemail.created", count: 1 },
    ]),
  );
  expect(simulator.counts.deliveries().total).toBe(3);
});

test("a job sends in order, and reports its progress and results", async () => {
  const { ask, simulator, fix } = await startWithFailures();
  const ids = async (query: string) =>
    ((await ask("GET", `/deliveries?${query}`)).body.data ?? []).map(({ id, resend_of: of }) => of ?? id);
  const lost = await ids("state=lost");
  fix();
  const begun = await ask("POST", RESEND, { state: "lost", since: "2d" });
  expect(begun).toMatchObject({
    status: 202,
    body: { object: "job", state: "counting", total: null, selection: { state: "lost", since: "2d" } },
  });
  await simulator.jobs.ended();
  const path = `/jobs/${String(begun.body["id"])}`;
  expect((await ask("GET", path)).body).toMatchObject({ state: "done", total: 3, sent: 3 });
  await simulator.settled();
  expect(await ids("state=delivered")).toEqual(lost);
  const { body: list } = await ask("GET", "/jobs");
  expect(list.data).toMatchObject([{ id: begun.body["id"], acknowledged: 3, failed: 0, problem: null }]);
  expect(list.data).toEqual([(await ask("GET", path)).body]);
  expect((await ask("POST", `${path}/cancel`, {})).body).toMatchObject({ error: "not_running" });
  expect((await ask("GET", "/jobs/job_none")).status).toBe(404);
});

test("a delivery that a job resends and that fails again counts as failed until it is acknowledged", async () => {
  const { simulator, fix } = await startWithFailures();
  const job = await resendAll(simulator, { type: "order.created" });
  await simulator.settled();
  expect(job).toMatchObject({ sent: 2, acknowledged: 0, failed: 2 });
  fix();
  await simulator.clock.run();
  expect(job).toMatchObject({ sent: 2, acknowledged: 2, failed: 0 });
  // Delivered ones are resent, too.
  expect(await resendAll(simulator, { type: "order.created", state: "delivered" })).toMatchObject({
    sent: 2,
  });
  await simulator.settled();
  expect(simulator.counts.deliveries()).toMatchObject({ total: 7, byState: { delivered: 4, dead: 3 } });
});

test("a canceled job sends no more, and no second job starts while one runs", async () => {
  const send: SimulatorOptions["send"] = () => Promise.resolve({ outcome: { status: 200 }, durationMs: 1 });
  const { ask, simulator, url } = await startService({ clock: "manual", calls: 0, send });
  register(simulator, "http://localhost:1/");
  emit(simulator, "call.completed", 1_000);
  await simulator.settled();
  const stop = simulator.journal.watch((entry) => {
    if (entry.kind !== "job.changed") return;
    const found = simulator.jobs.get(entry.jobId);
    if (!found.ok || found.job.sent < 200) return;
    expect(simulator.jobs.start({}, {})).toMatchObject({ ok: false, reason: "already_running" });
    stop();
    simulator.jobs.cancel(entry.jobId);
  });
  const resent = await run("deliveries", "resend", "--type", "call.completed", "--simulator", url);
  expect([resent.code, resent.err]).toEqual([
    3,
    expect.stringContaining("200 sent again of 1000; canceled."),
  ]);
  expect(simulator.jobs.list()).toMatchObject([{ state: "canceled", total: 1_000, sent: 200 }]);
  expect((await ask("POST", RESEND, { until: "0" })).status).toBe(202);
  await ask("POST", "/reset", {});
  expect((await ask("GET", "/jobs")).body.data).toEqual([]);
});

test("a job sends nothing to an endpoint that is removed meanwhile, and leaves nothing open", async () => {
  const simulator = openSimulator({ send: async () => ({ outcome: { status: 200 }, durationMs: 1 }) });
  const { id } = register(simulator, "http://localhost:1/");
  emit(simulator, "call.completed", 150);
  await simulator.settled();
  const stop = simulator.journal.watch((entry) => {
    if (entry.kind !== "job.changed" || simulator.jobs.list()[0]?.sent !== 100) return;
    stop();
    simulator.endpoints.remove(id);
  });
  const job = await resendAll(simulator, { type: "call.completed" });
  await simulator.settled();
  expect([job.state, job.total, job.sent, job.acknowledged + job.failed]).toEqual(["done", 150, 100, 100]);
  expect([simulator.jobs.active(), simulator.counts.deliveries().total]).toEqual([[], 250]);
});

test("a job that fails counts no later deliveries with the ids of those that were rolled back", async () => {
  const dataFile = join(temporaryDirectory(), "simulator.db");
  const send: SimulatorOptions["send"] = () => Promise.resolve({ outcome: { status: 200 }, durationMs: 1 });
  await openSimulator({ dataFile }).close();
  const file = new Database(dataFile);
  file.exec(`CREATE TRIGGER full BEFORE INSERT ON deliveries
    WHEN NEW.resend_of IS NOT NULL AND (SELECT max(seq) FROM deliveries) = 270
    BEGIN SELECT RAISE(ABORT, 'disk is full'); END`);
  file.close();
  const simulator = openSimulator({ dataFile, send });
  register(simulator, "http://localhost:1/");
  emit(simulator, "call.completed", 150);
  await simulator.settled();
  const job = await resendAll(simulator, { type: "call.completed" });
  expect(job).toMatchObject({ state: "failed", problem: "disk is full", total: 150, sent: 100 });
  emit(simulator, "order.created", 30);
  await simulator.settled();
  expect([job.acknowledged, job.failed, simulator.jobs.active()]).toEqual([100, 0, []]);
});

test("deliveries of a removed endpoint are not counted as lost", async () => {
  const { ask, all, fix, simulator } = await startWithFailures();
  const lost = async () => [
    (await ask("GET", "/clock")).body["lost"],
    (await ask("GET", "/history")).body["lost"],
  ];
  expect(await lost()).toEqual([3, 3]);
  await ask("DELETE", `/endpoints/${all.id}`);
  expect(await lost()).toEqual([1, 1]);
  fix();
  await resendAll(simulator);
  await simulator.settled();
  expect(await lost()).toEqual([0, 0]);
});

test("an empty selection, or one of something unknown, is refused", async () => {
  const { ask } = await startWithFailures();
  const unknown = [{ stat: "lost" }, { state: "gone" }, { q: "state:gone" }];
  for (const body of [{}, { q: undefined }, { q: " " }, ...unknown])
    expect((await ask("POST", RESEND, body)).status, JSON.stringify(body)).toBe(400);
  // A bare number would be a year, or any period.
  for (const since of ["yesterday", "90", "90.5", "march 90", 90])
    expect(await ask("POST", RESEND, { since })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining("with its unit: 90s, 90m, 1h") },
    });
  const paths = "deliveries?since=90 deliveries?q=after:90 history?until=90 counts?gave_up_since=x".split(
    " ",
  );
  for (const path of paths) expect((await ask("GET", `/${path}`)).status, path).toBe(400);
});

test("a recovered delivery names its recovery, counts as correct, and is no longer lost", async () => {
  const { ask, simulator, voicemail, fix } = await startWithFailures();
  fix();
  expect(await resendAll(simulator, { type: "voicemail.created" })).toMatchObject({ sent: 1 });
  await simulator.settled();
  const { body: original } = await ask("GET", `/deliveries/${voicemail}`);
  const { body: again } = await ask("GET", `/deliveries/${String(original["recovered_by"])}`);
  expect(again).toMatchObject({ resend_of: voicemail, state: "delivered" });
  expect(original).toMatchObject({
    state: "dead",
    verdict: { result: "ok", sentence: "Gave up, recovered by a later delivery", cause: null },
  });
  // A dry run counts which of the dead deliveries a resend would send.
  expect((await ask("POST", RESEND, { state: "dead", dry_run: true })).body["total"]).toBe(2);
  for (const search of [{ state: "lost" }, { verdict: "not" }] as const)
    expect(await simulator.deliveries.count(search)).toMatchObject({ total: 2 });
  expect(await resendAll(simulator, { type: "voicemail.created", state: "dead" })).toMatchObject({ sent: 0 });
});

test("of several recoveries the first is named, and since and until include exactly their moments", async () => {
  const { ask, simulator, voicemail, fix } = await startWithFailures();
  fix();
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

test("a watcher gets a change of the original delivery when it was recovered", async () => {
  const { simulator, voicemail, fix } = await startWithFailures();
  const noticed = new Set<string>();
  simulator.journal.watch((entry) => {
    if (entry.kind === "delivery.changed") noticed.add(entry.deliveryId);
  });
  fix();
  await resendAll(simulator, { type: "voicemail.created" });
  await simulator.settled();
  simulator.verdicts.counts();
  expect(noticed).toContain(voicemail);
});

test("the command resends by ids or by a selection, and a dry run prints what it would do", async () => {
  const { url, voicemail, order, fix } = await startWithFailures();
  const more = async (limit: string) =>
    (await run("deliveries", "list", "--limit", limit, "--simulator", url)).err.includes("more with --limit");
  expect([await more("2"), await more("3")]).toEqual([true, false]);
  const resend = (...words: string[]) => run("deliveries", "resend", ...words, "--simulator", url);
  const dry = await resend("--state", "lost", "--type", "order.created", "--since", "2d", "--dry-run");
  expect([dry.code, dry.out.match(/1 order\.created to ep_/g)?.length]).toEqual([0, 2]);
  expect(dry.err).toContain("2 would be sent again; nothing was sent.");
  fix();
  const byId = await resend(voicemail, order);
  expect(byId.out.match(/Sent again as dlv_/g)).toHaveLength(2);
  const rest = await resend("--state", "failed");
  expect(rest.err).toContain("1 sent again.");
  expect((await resend("--state", "lost")).err).toContain("no delivery matches");
  await control(url, "POST", "/deliveries/resend", { ids: [voicemail, order] });
  expect((await run("deliveries", "jobs", "--simulator", url)).out).toMatch(
    /job_3 .* 2 chosen\n[^]*job_2 .*0 of 0[^]*job_1 .*1 of 1/,
  );
  const neither = await resend();
  expect([neither.code, neither.err]).toEqual([2, expect.stringContaining("--state lost")]);
  expect((await resend(voicemail, "--state", "lost")).err).toContain("not both");
});
