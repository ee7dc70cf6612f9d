import { expect, test } from "vitest";
import { createControlClient } from "../../../simulator/commands/control-client.ts";
import { firstResult, waitForFirstAttempts } from "../../../simulator/commands/first-attempts.ts";
import { createOutput } from "../../../simulator/commands/output.ts";
import { startService } from "../../helpers/service.ts";
import { emit, register } from "../../helpers/simulator.ts";

test("a first attempt that is due, and waits for its turn at the endpoint, is waited for", async () => {
  const answered = Promise.withResolvers<void>();
  const { url, simulator } = await startService({
    concurrency: 1,
    send: async () => answered.promise.then(() => ({ outcome: { status: 200 }, durationMs: 1 })),
  });
  register(simulator, "http://localhost:9/");
  const deliveries = emit(simulator, "voicemail.created", 2).map((id) => ({ id }));
  const client = createControlClient({ simulator: url });
  // It says so while it waits; the endpoint answers then.
  const output = { ...createOutput({}), progress: () => answered.resolve() };
  const ended = await waitForFirstAttempts(client, { events: [], deliveries: deliveries.slice(1) }, output);
  expect(ended.map((delivery) => firstResult(delivery))).toEqual(["200"]);
});
