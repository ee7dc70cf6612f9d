import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  DEFAULT_READINGS,
  listReadings,
  READINGS,
  type ReadingName,
  parseReadings,
} from "../../../simulator/domain/readings.ts";

const readings = Object.entries(READINGS);
const page = readFileSync(new URL("../../../docs/readings.md", import.meta.url), "utf8");

/** The page's text on one line. */
const words = page.replaceAll(/\s+/g, " ");

describe("the registry of readings", () => {
  test.each(readings)("%s: its default comes first, and no choice comes twice", (name, reading) => {
    const choices: readonly string[] = reading.choices;
    const listed = listReadings().find((one) => one.name === name);
    expect(listed).toMatchObject({ choices, default: choices[0] });
    expect(choices.length).toBeGreaterThan(1);
    expect(new Set(choices).size).toBe(choices.length);
  });

  test("docs/readings.md has each with its description, choices and section", () => {
    for (const { name, choices, default: usual, section, summary } of listReadings()) {
      const shown = choices.map((choice) => `\`${choice}\`${choice === usual ? "*" : ""}`).join(", ");
      expect(words).toContain(`**${name}** (${section}): ${shown}. ${summary}`);
    }
  });
});

describe("--reading", () => {
  test("leaves everything at its default when it is not given", () => {
    const defaults = Object.fromEntries(readings.map(([name, { choices }]) => [name, choices[0]]));
    expect(DEFAULT_READINGS).toEqual(defaults);
    expect(parseReadings([])).toEqual({ ok: true, readings: defaults });
  });

  test.each(readings.flatMap(([name, { choices }]) => choices.map((choice) => [name, choice])))(
    "takes %s=%s",
    (name, choice) => {
      expect(parseReadings([`${name}=${choice}`])).toEqual({
        ok: true,
        readings: { ...DEFAULT_READINGS, [name as ReadingName]: choice },
      });
    },
  );

  test("takes several, the later of two for one name", () => {
    expect(
      parseReadings(["retry_body=reserialized", " limit_out_of_range = clamp ", "retry_body=same_bytes"]),
    ).toEqual({ ok: true, readings: { ...DEFAULT_READINGS, limit_out_of_range: "clamp" } });
  });

  test.each([
    ["limit_out_of_range", '"limit_out_of_range" is not NAME=CHOICE, such as limit_out_of_range=clamp.'],
    ["", '"" is not NAME=CHOICE, such as limit_out_of_range=clamp.'],
    [
      "limit_out_of_rang=clamp",
      'There is no reading "limit_out_of_rang". Did you mean "limit_out_of_range"? "readings" lists them all.',
    ],
    ["__proto__=clamp", 'There is no reading "__proto__". "readings" lists them all.'],
    [
      "retry_body=same_byte",
      'The reading retry_body is same_bytes or reserialized, not "same_byte". Did you mean "same_bytes"?',
    ],
    ["retry_body=", 'The reading retry_body is same_bytes or reserialized, not "".'],
  ])("explains what is wrong with %j", (assignment, message) => {
    expect(parseReadings([assignment])).toEqual({ ok: false, message });
  });
});
