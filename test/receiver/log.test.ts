import { expect, test, vi } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { createLog, describePlace } from "../../receiver/operations/log.ts";

test.each([
  [undefined, {}],
  ["worker", { part: "worker" }],
])("a line of the part %o says so, and nothing else of itself", (name, part) => {
  const lines: unknown[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLog({
    level: "info",
    destination,
    ...(name === undefined ? {} : { name }),
    secrets: ["whsec_long"],
  });
  log.warn({ key: "whsec_long", err: Object.assign(new RangeError("whsec_long"), { request: "x" }) }, "oh");
  log.debug("nobody reads this");
  expect(lines).toEqual([
    {
      level: "warn",
      time: expect.any(String),
      ...part,
      key: "[redacted]",
      err: {
        type: "RangeError",
        message: "[redacted]",
        stack: expect.stringContaining("RangeError: [redacted]"),
      },
      msg: "oh",
    },
  ]);
});

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

test("of an error whose message may be personal its name and its place are told, and nothing else", () => {
  class OwnError extends RangeError {
    override readonly name = "OwnError";
  }
  for (const message of ["for +12125550142", "for\n    at +12125550142 (x)\nthem", ""]) {
    const { error, at } = describePlace(new OwnError(message));
    expect(error).toBe("OwnError");
    expect(at[0]).toMatch(/^at .*log\.test\.ts:\d+:\d+\)?$/);
    expect(at.join()).not.toContain("5550142");
  }
  for (const thrown of ["+12125550142", 7, null, undefined])
    expect(describePlace(thrown)).toEqual({ error: typeof thrown, at: [] });
});
