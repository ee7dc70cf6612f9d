import { expect, test } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { openSimulator, register } from "../../helpers/simulator.ts";

test("a run of verify that is under way ends with the simulator", async () => {
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
