import { expect, onTestFinished, test } from "vitest";
import { createControlClient } from "../../../simulator/commands/control-client.ts";
import { firstResult, waitForFirstAttempts } from "../../../simulator/commands/first-attempts.ts";
import { createOutput } from "../../../simulator/commands/output.ts";
import { startService } from "../../helpers/service.ts";
import { emit, register } from "../../helpers/simulator.ts";
import { run } from "./in-process.ts";

test("a first attempt that is due, and waits for its turn at the endpoint, is waited for", async () => {
  const answered = Promise.withResolvers<void>();
  const { url, simulator } = await startService({
    clock: "manual",
    concurrency: 1,
    send: async () => answered.promise.then(() => ({ outcome: { status: 200 }, durationMs: 1 })),
  });
  onTestFinished(() => answered.resolve());
  register(simulator, "http://localhost:9/");
  const deliveries = emit(simulator, "voicemail.created", 2).map((id) => ({ id }));
  const client = createControlClient({ simulator: url });
  // It says so while it waits; the endpoint answers then.
  const output = { ...createOutput({}), progress: () => answered.resolve() };
  const ended = await waitForFirstAttempts(client, { events: [], deliveries: deliveries.slice(1) }, output);
  expect(ended.map((delivery) => firstResult(delivery))).toEqual(["200"]);
});

test("of more deliveries than one page has, the first attempt of each is waited for and counted", async () => {
  const { simulator, url } = await startService({
    clock: "manual",
    calls: 0,
    concurrency: 1_000,
    send: ({ url: to }) =>
      Promise.resolve({ outcome: { status: to.endsWith("/a") ? 200 : 503 }, durationMs: 1 }),
  });
  for (const path of ["a", "b"]) register(simulator, `http://localhost:9/${path}`);
  const { out, code } = await run("trigger", "call.completed", "--count", "501", "--simulator", url);
  const lines = out.trimEnd().split("\n");
  expect({ code, lines: lines.length }).toEqual({ code: 0, lines: 22 });
  expect(lines.slice(20)).toEqual(["… and 481 more", "First attempts: 501 × 200, 501 × 503"]);
});
