import { expect, test } from "vitest";
import { parseDuration } from "../../../simulator/domain/duration.ts";
import { FAULT_NAMES, FAULTS, formatFault, parseFault } from "../../../simulator/domain/faults.ts";
import { didYouMean } from "../../../simulator/domain/refused.ts";

/** What users type, and the parsed values. */

test.each([
  ["0", 0],
  ["250ms", 0.25],
  ["90s", 90],
  ["5m", 300],
  ["12h", 43_200],
  ["10d", 864_000],
  ["1.25h", 4_500],
  ["1h30m", 5_400],
  ["1d12h30m15s500ms", 131_415.5],
])("%s are %d seconds", (text, seconds) => {
  expect(parseDuration(text)).toBeCloseTo(seconds, 6);
});

test.each("| 5m|5m |m|5x|x5|5.m|.5h|5 m|-5m|5m-|1e3|5M|soon5m|5min|90|1.5".split("|"))(
  "%j is no duration",
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

test("each fault is parsed, alone and with a number of attempts", () => {
  for (const name of FAULT_NAMES) {
    const isCounted = ["signature", "wire"].includes(FAULTS[name].at);
    for (const text of isCounted ? [name, `${name}:1`, `${name}:6`] : [name]) {
      const parsed = parseFault(text);
      expect(parsed.ok && formatFault(parsed.fault)).toBe(text);
    }
  }
});

test.each([
  ["drop-answer:0", "1 to 6"],
  ["drop-answer:7", "1 to 6"],
  ["drop-answer:10", "1 to 6"],
  ["drop-answer:", "1 to 6"],
  ["drop-answer:x1", "1 to 6"],
  ["drop-answer:1:2", "1 to 6"],
  ["", "Unknown fault"],
  ["toString", "Unknown fault"],
  ["Delay", "Unknown fault"],
  [":1", "Unknown fault"],
])("refuses the fault %j and says why", (text, why) => {
  expect(parseFault(text)).toEqual({ ok: false, message: expect.stringContaining(why) });
});

const TYPES = ["call.completed", "call.transferred", "voicemail.created", "id"];

test.each([
  ["call.completed", "call.completed"],
  ["CALL.COMPLETED", "call.completed"],
  ["call.complete", "call.completed"],
  // At most a third of the letters may differ.
  ["call.xxxxleted", "call.completed"],
  ["call.xxxxxeted", undefined],
  ["voicemail", undefined],
  ["voicemail.crea", "voicemail.created"],
  ["ix", "id"],
  ["i", "id"],
  ["idxx", "id"],
  ["idxxx", undefined],
  ["", "id"],
  ["x".repeat(101), undefined],
])("for %j the suggestion is %s", (word, meant) => {
  expect(didYouMean(word, TYPES)).toBe(meant === undefined ? "" : ` Did you mean "${meant}"?`);
});

test("of several similar words the most similar is suggested", () => {
  for (const words of [
    ["abxx", "abcx"],
    ["abcx", "abxx"],
  ])
    expect(didYouMean("abcd", words)).toBe(' Did you mean "abcx"?');
});
