import { expect, test } from "vitest";
import type { Handled } from "../../receiver/engine.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { RetryAfter } from "../../receiver/work/handler.ts";
import { logHandled } from "../../receiver/work/loop.ts";

test.each<[Handled["outcome"], string, string]>([
  ["done", "info", "handled"],
  ["later", "info", "put off by its handler"],
  ["failed", "warn", "handling failed; it will be tried again"],
  ["lost", "warn", "the claim was lost; another worker has the job"],
  ["dead", "error", "dead: requeue it once the cause is mended"],
])("an attempt that ended as %s is told at the level %s", (outcome, level, msg) => {
  const lines: unknown[] = [];
  const log = createLog({
    level: "debug",
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const handled = { id: "evt_1", handler: "pos", attempt: 3, outcome, durationMs: 12.6 };
  logHandled(log, { ...handled, type: "call.completed" });
  logHandled(log, { ...handled, type: "made.up", error: "no menu" });
  const line = {
    level,
    time: expect.any(String),
    event_id: "evt_1",
    handler: "pos",
    attempt: 3,
    outcome,
    msg,
  };
  expect(lines).toEqual([
    { ...line, type: "call.completed", duration_ms: 13 },
    { ...line, type: "other", duration_ms: 13, error: "no menu" },
  ]);
});

test.each([
  [0, "in 0 s"],
  [90, "in 90 s"],
  [0.5, "in 0.5 s"],
  [new Date(Date.UTC(2026, 0, 31)), "at 2026-01-31T00:00:00.000Z"],
])("who asks to come back at %o says so, unless it gives a reason of its own", (when, words) => {
  expect(new RetryAfter(when).message).toBe(`Asked to come back ${words}.`);
  expect(new RetryAfter(when, "closed until Monday")).toMatchObject({ when, message: "closed until Monday" });
});

test.each([-1, -0.001, Number.NaN, new Date(Number.NaN)])("nobody can come back at %o", (when) => {
  expect(() => new RetryAfter(when)).toThrow(/^RetryAfter takes seconds from 0 on or a valid Date, not /);
});
