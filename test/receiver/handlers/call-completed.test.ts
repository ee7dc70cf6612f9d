import { expect, test } from "vitest";
import { callCompleted } from "../../../receiver/handlers/call-completed.ts";
import { sampleCall, sampleEnvelope } from "../../../shared/samples.ts";
import { bench } from "../helpers/bench.ts";

test("a completed call is logged once, however often its event comes", async () => {
  const { run, rows } = await bench(callCompleted);
  const event = sampleEnvelope("call.completed");
  expect(await run(event)).toEqual({ outcome: "done", attempt: 1 });
  expect(await run(event)).toEqual({ outcome: "duplicate", attempt: 0 });
  expect(await rows("SELECT * FROM call_log")).toEqual([
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

test("a call with fields missing, null or of another type is logged with its other fields", async () => {
  const { run, rows } = await bench(callCompleted);
  const object = { object: "call", id: "call_1", outcome: null, duration_sec: "94", surprise: true };
  await run(sampleEnvelope("call.completed", { data: { object } }));
  expect(await rows("SELECT call_id, outcome, duration_seconds FROM call_log")).toEqual([
    { call_id: "call_1", outcome: null, duration_seconds: null },
  ]);
});

test("neither the caller nor the transcript is in the log", async () => {
  const { run, logs } = await bench(callCompleted);
  await run(sampleEnvelope("call.completed"));
  expect(logs).toMatchObject([{ handler: "log-call", msg: "call logged" }]);
  expect(JSON.stringify(logs)).not.toMatch(new RegExp(`${sampleCall.phone.slice(1)}|Sofia`));
});
