import { expect, onTestFinished, test, vi } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { openSimulator, register } from "../../helpers/simulator.ts";

test("a running verify ends with the simulator", async () => {
  const silent = await startEndpoint(() => {});
  const simulator = openSimulator();
  const { id } = register(simulator, silent.url);
  const started = await simulator.verification.start(id, { only: ["acknowledgement"] });
  expect(started.ok).toBe(true);
  await silent.until(1);
  await simulator.close();
  const ended = simulator.verification.current();
  expect(ended?.report).toMatchObject({ verdict: "incomplete", incomplete: "It was interrupted." });
  expect(ended?.endedAtMs).toBeTypeOf("number");
});

test("a run of verify ends after ten minutes, with its results so far", async () => {
  const limit = new AbortController();
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValueOnce(limit.signal);
  onTestFinished(() => timeout.mockRestore());
  const silent = await startEndpoint(() => {});
  const simulator = openSimulator();
  const { id } = register(simulator, silent.url);
  expect(await simulator.verification.start(id, { only: ["acknowledgement"] })).toMatchObject({ ok: true });
  expect(timeout.mock.calls[0]).toEqual([10 * 60 * 1_000]);
  await silent.until(1);
  limit.abort();
  await expect.poll(() => simulator.verification.current()?.report?.verdict).toBe("incomplete");
});
