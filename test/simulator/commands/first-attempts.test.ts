import { expect, onTestFinished, test } from "vitest";
import { createControlClient } from "../../../simulator/commands/control-client.ts";
import { firstResult, waitForFirstAttempts } from "../../../simulator/commands/first-attempts.ts";
import { createOutput } from "../../../simulator/commands/output.ts";
import { startService } from "../../helpers/service.ts";
import { emit, register } from "../../helpers/simulator.ts";
import { run } from "./in-process.ts";

test("the command waits for a first attempt that is due and queued at its endpoint", async () => {
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
  // It prints that it waits; then the endpoint answers.
  const output = { ...createOutput({}), progress: () => answered.resolve() };
  const ended = await waitForFirstAttempts(client, { events: [], deliveries: deliveries.slice(1) }, output);
  expect(ended.map((delivery) => firstResult(delivery))).toEqual(["200"]);
});

test("with more deliveries than one page, the first attempt of each is awaited and counted", async () => {
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
