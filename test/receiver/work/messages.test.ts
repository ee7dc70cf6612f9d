import { expect, test } from "vitest";
import { logEnded } from "../../../receiver/work/messages.ts";
import { recordedLog } from "../helpers/log.ts";

test.each([
  ["done", "info"],
  ["later", "info"],
  ["failed", "warn"],
  ["lost", "warn"],
  ["dead", "error"],
] as const)("an attempt that ended as %s is logged as %s, with its milliseconds", (outcome, level) => {
  const { log, lines } = recordedLog();
  const ended = { handler: "pos", type: "order.created", attempt: 2, outcome };
  logEnded(log, { ...ended, id: "evt_1", durationMs: 1_234.5 });
  expect(lines).toMatchObject([{ ...ended, level, event_id: "evt_1", duration_ms: 1_235 }]);
});
