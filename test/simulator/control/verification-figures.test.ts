import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { createObserver } from "../../../simulator/observer/observer.ts";
import { CATALOGUE } from "../../../simulator/verify/catalogue.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { listen } from "../../helpers/listen.ts";
import { startService } from "../../helpers/service.ts";
import { register } from "../../helpers/simulator.ts";
import { SECRET, startMutant } from "../../mutants/receiver.ts";

const SLOW_MS = 250;

test("a run of verify in the simulator has its start, its duration and its progress", async () => {
  const { ask, simulator } = await startService();
  const receiver = await startEndpoint((response) => {
    setTimeout(() => response.writeHead(200).end(), SLOW_MS);
  });
  const { id } = register(simulator, receiver.url);
  const check = CATALOGUE[0]?.id ?? "";
  const before = Date.now();
  const begun = (await ask("POST", `/endpoints/${id}/verify`, { only: [check] })).body;
  const first = { state: "running", verdict: null, duration_ms: null, total: 1, done: 0, checks: [] };
  expect(begun).toMatchObject(first);
  const startedMs = Date.parse(String(begun["started_at"]));
  expect(startedMs).toBeGreaterThanOrEqual(before);

  const state = async () => (await ask("GET", "/verification")).body["verification"] as typeof begun;
  await expect.poll(async () => (await state())["state"]).toBe("ended");
  const ended = await state();
  const last = { verdict: "passed", incomplete: null, total: 1, done: 1, started_at: begun["started_at"] };
  expect(ended).toMatchObject(last);
  // Two answers one after the other: that of the preflight, and that of the check.
  const tookMs = Number(ended["duration_ms"]);
  expect(tookMs).toBeGreaterThanOrEqual(2 * SLOW_MS - 10);
  expect(tookMs).toBeLessThanOrEqual(Date.now() - before + 1_000);
  // A canceled run keeps the last full report.
  expect((await ask("POST", `/endpoints/${id}/verify`, { only: [check] })).status).toBe(202);
  await ask("POST", "/verification/cancel", {});
  expect(await state()).toEqual(ended);
});

test("a run uses the endpoint's selection, its current secret and its observer", async () => {
  const receiver = await startMutant({}, Date.now);
  onTestFinished(() => receiver.close());
  const { ask, simulator } = await startService();
  const counts = await listen(
    createServer((request, response) => {
      const id = request.url?.slice("/handled/".length) ?? "";
      response.end(JSON.stringify({ handled: receiver.handled(id) }));
    }),
  );
  const urlTemplate = `${counts.url}/handled/{id}`;
  const selected = register(simulator, receiver.url, {
    eventTypes: ["order.created"],
    secret: "whsec_other",
  });
  const all = register(simulator, receiver.url, { secret: SECRET });
  simulator.verdicts.observe(createObserver(urlTemplate), all.id);
  const rotated = simulator.endpoints.rotate(selected.id, { secret: SECRET, overlapMs: 60_000 });
  expect(rotated).toMatchObject({ ok: true });
  const run = async (id: string) => {
    const begun = (await ask("POST", `/endpoints/${id}/verify`, { only: ["acknowledgement"] })).body;
    const state = async () => (await ask("GET", "/verification")).body["verification"] as typeof begun;
    await expect.poll(async () => (await state())["state"]).toBe("ended");
    return { total: begun["total"], ended: await state() };
  };
  const group = CATALOGUE.filter(({ group: name }) => name === "acknowledgement");
  const meant = group.filter(({ about = [] }) => about.every((type) => type === "order.created"));
  const some = await run(selected.id);
  expect(some).toMatchObject({
    total: meant.length,
    ended: { endpoint_id: selected.id, url: receiver.url, verdict: "passed", done: meant.length },
  });
  const checks = some.ended["checks"] as { id: string; repeat: string }[];
  expect(checks.map(({ id }) => id).toSorted()).toEqual(
    ["preflight.reachable", "preflight.accepts", ...meant.map(({ id }) => id)].toSorted(),
  );
  for (const { id, repeat } of checks) {
    expect(repeat).toContain(" --events order.created");
    expect(repeat).not.toContain("--observe");
    expect(repeat.includes(`--only ${id}`)).toBe(!id.startsWith("preflight."));
    expect(repeat).toContain(` --seed ${String(some.ended["seed"])}`);
  }
  const whole = await run(all.id);
  expect(whole).toMatchObject({ total: group.length, ended: { endpoint_id: all.id, verdict: "passed" } });
  const [listed] = whole.ended["checks"] as { repeat: string }[];
  expect(listed?.repeat).toContain(`--observe '${urlTemplate}'`);
  expect(listed?.repeat).not.toContain("--events");
});
