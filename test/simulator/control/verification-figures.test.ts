import { expect, test } from "vitest";
import { CATALOGUE } from "../../../simulator/verify/catalogue.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { startService } from "../../helpers/service.ts";
import { register } from "../../helpers/simulator.ts";

const SLOW_MS = 250;

test("a run of verify in the simulator tells when it began, how long it took and how far it is", async () => {
  const { ask, simulator } = await startService();
  const receiver = await startEndpoint((response) => {
    setTimeout(() => response.writeHead(200).end(), SLOW_MS);
  });
  const { id } = register(simulator, receiver.url);
  const check = CATALOGUE[0]?.id ?? "";
  const before = Date.now();
  const begun = (await ask("POST", `/endpoints/${id}/verify`, { only: [check] })).body;
  expect(begun).toMatchObject({
    state: "running",
    verdict: null,
    duration_ms: null,
    total: 1,
    done: 0,
    checks: [],
  });
  const startedMs = Date.parse(String(begun["started_at"]));
  expect(startedMs).toBeGreaterThanOrEqual(before);

  const state = async () => (await ask("GET", "/verification")).body["verification"] as typeof begun;
  await expect.poll(async () => (await state())["state"]).toBe("ended");
  const ended = await state();
  expect(ended).toMatchObject({
    verdict: "passed",
    incomplete: null,
    total: 1,
    done: 1,
    started_at: begun["started_at"],
  });
  // Two answers one after the other: that of the preflight, and that of the check.
  const tookMs = Number(ended["duration_ms"]);
  expect(tookMs).toBeGreaterThanOrEqual(2 * SLOW_MS - 10);
  expect(tookMs).toBeLessThanOrEqual(Date.now() - before + 1_000);
});
