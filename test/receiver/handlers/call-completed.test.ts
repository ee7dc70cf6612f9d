import { expect, test } from "vitest";
import { callCompleted } from "../../../receiver/handlers/call-completed.ts";
import { sampleCall, sampleEnvelope } from "../../../shared/samples.ts";
import { createHandlerBench } from "../helpers/run-handler.ts";

test("a completed call is logged once, however often its event is handled", async () => {
  const bench = createHandlerBench(callCompleted);
  const event = sampleEnvelope("call.completed");
  await bench.run(event);
  await bench.run(event, { attempt: 2 });
  expect(bench.rows("SELECT * FROM call_log")).toEqual([
    {
      event_id: event.id,
      call_id: sampleCall.id,
      agent_id: sampleCall.agent_id,
      outcome: "completed",
      duration_seconds: 94,
      called_at: sampleCall.created_at,
    },
  ]);
});

test("a call with fields missing, null or of another kind is logged with what it has", async () => {
  const bench = createHandlerBench(callCompleted);
  const object = { object: "call", id: "call_1", outcome: null, duration_sec: "94", surprise: true };
  await bench.run(sampleEnvelope("call.completed", { data: { object } }));
  expect(bench.rows("SELECT call_id, outcome, duration_seconds FROM call_log")).toEqual([
    { call_id: "call_1", outcome: null, duration_seconds: null },
  ]);
});

test("neither the caller nor the transcript is in the log", async () => {
  const bench = createHandlerBench(callCompleted);
  await bench.run(sampleEnvelope("call.completed"));
  expect(bench.logged).toHaveLength(1);
  expect(bench.logged.join()).not.toContain(sampleCall.phone);
  expect(bench.logged.join()).not.toContain("Sofia");
});
