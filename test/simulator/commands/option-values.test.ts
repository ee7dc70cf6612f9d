import { expect, onTestFinished, test, vi } from "vitest";
import {
  durationSeconds,
  eventsASecond,
  observeUrl,
  shareOf,
  webUrl,
  wholeNumber,
} from "../../../simulator/commands/option-values.ts";

/** The numbers and addresses that options accept, with the last accepted and the first refused value. */

type Parse = (text: string) => unknown;

/** The values that each option accepts, with the results, and the values that it refuses. */
const PARSERS: [name: string, parse: Parse, takes: Record<string, unknown>, refuses: string[]][] = [
  [
    "a rate",
    eventsASecond,
    { "50": 50, "0.5": 0.5, "50/s": 50, "0.25/s": 0.25, "100000": 100_000 },
    ["0", "0.0", "100000.1", "-1", "50/min", "1e3", "fast", "", ".5"],
  ],
  [
    "a share",
    shareOf,
    { "5%": 0.05, "0.05": 0.05, "12.5%": 0.125, "0": 0, "1": 1, "100%": 1 },
    ["1.01", "101%", "-1%", "%", "5 %", "some", ""],
  ],
  ["a duration", durationSeconds, { "0": 0, "90m": 5_400, "250ms": 0.25 }, ["90", "", "soon"]],
  [
    "a whole number",
    wholeNumber(2, 20),
    { "2": 2, "20": 20, "007": 7 },
    ["1", "21", "2.0", "+2", " 2", "0x10", "1e1", ""],
  ],
  [
    "an address",
    webUrl,
    {
      "http://localhost:3000/hooks": "http://localhost:3000/hooks",
      "https://example.com": "https://example.com",
    },
    ["localhost:3000", "ftp://x/", ""],
  ],
  [
    "an address to ask",
    observeUrl,
    { "http://localhost/{id}": "http://localhost/{id}" },
    ["http://localhost/id", "{id}"],
  ],
];

test.each(PARSERS)("%s is parsed or refused", (_, parse, takes, refuses) => {
  expect(Object.keys(takes).map(parse)).toEqual(Object.values(takes));
  const taken = refuses.filter((text) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  });
  expect(taken).toEqual([]);
});

test("a path alone is at the user's PORT of this machine, or 3000", () => {
  vi.stubEnv("PORT", "4711");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(webUrl("/webhooks")).toBe("http://localhost:4711/webhooks");
  vi.stubEnv("PORT", "");
  expect(observeUrl("/handled/{id}")).toBe("http://localhost:3000/handled/{id}");
});
