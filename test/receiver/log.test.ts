import { expect, test, vi } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { createLog } from "../../receiver/operations/log.ts";

test("each line says to the millisecond when it was written", () => {
  const lines: string[] = [];
  const now = vi.spyOn(systemClock, "nowMs");
  try {
    const log = createLog({ level: "info", destination: { write: (line) => void lines.push(line) } });
    for (const ms of [0, 0, 999, 1_000, 999]) {
      now.mockReturnValue(ms);
      log.info("written");
    }
  } finally {
    now.mockRestore();
  }
  expect(lines.map((line) => /"time":"([^"]*)"/.exec(line)?.[1])).toEqual([
    "1970-01-01T00:00:00.000Z",
    "1970-01-01T00:00:00.000Z",
    "1970-01-01T00:00:00.999Z",
    "1970-01-01T00:00:01.000Z",
    "1970-01-01T00:00:00.999Z",
  ]);
});
