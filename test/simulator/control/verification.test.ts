import { expect, onTestFinished, test, vi } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { startService } from "../../helpers/service.ts";
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
