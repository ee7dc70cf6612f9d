import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { EVENT_TYPES, envelopeSchema, eventSchema, type EventType } from "../../shared/events.ts";
import { createMaterial } from "../../simulator/verify/material.ts";
import { cutUp, shellPieces } from "../../simulator/verify/pieces.ts";
import { githubReport } from "../../simulator/verify/reports/github.ts";
import { junitReport } from "../../simulator/verify/reports/junit.ts";
import type { PresentedReport, PresentedResult } from "../../simulator/verify/reports/presented.ts";
import { RULES } from "../../simulator/verify/rules.ts";

const material = (events: readonly EventType[] = EVENT_TYPES, scope = "s") =>
  createMaterial({ seed: "1", scope, events, nowSeconds: () => 1_790_000_000 });

test.each(EVENT_TYPES)("an event of %s is the service's, of now, and about an object of its own", (type) => {
  const made = material();
  const [one, other] = [made.event(type), made.event(type)];
  for (const event of [one, other]) {
    expect(eventSchema(type).safeParse(event).error).toBeUndefined();
    expect(event).toMatchObject({ type, created: 1_790_000_000, api_version: "v1" });
  }
  expect(one.id).not.toBe(other.id);
  expect(one.data.object["id"]).not.toBe(other.data.object["id"]);
  expect(one.data.object["id"]).toMatch(/^(?:call|vm|order|booking)_[0-9a-f]{16}$/);
  expect(material(EVENT_TYPES, "another").event(type).id).not.toBe(one.id);
});

test("what is laid over an event counts, in its object and beside it", () => {
  const made = material().event(
    "order.created",
    { total: "1" },
    { created: 7, api_version: "v9", more: true },
  );
  expect(made).toMatchObject({ created: 7, api_version: "v9", more: true });
  expect(made.data.object).toMatchObject({ object: "order", total: "1" });
  expect(envelopeSchema.safeParse(made).success).toBe(true);
});

test.each<[EventType[], EventType[]]>([
  [[...EVENT_TYPES], [...EVENT_TYPES]],
  [["order.created"], Array.from({ length: 5 }, () => "order.created" as const)],
  [
    ["voicemail.created", "booking.created"],
    ["voicemail.created", "booking.created", "voicemail.created", "booking.created", "booking.created"],
  ],
])("an endpoint of %j is sent nothing else", (events, expected) => {
  const made = material(events);
  expect(EVENT_TYPES.map((type) => made.event(type).type)).toEqual(expected);
});

test.each([
  [[], ["abcdef"]],
  [[1], ["a", "bcdef"]],
  [
    [2, 4],
    ["ab", "cd", "ef"],
  ],
  [[6], ["abcdef"]],
  [
    [5, 9],
    ["abcde", "f"],
  ],
])("cut at %j a body goes out in these pieces, from us and from a shell", (cutAt, expected) => {
  const pieces = { cutAt, pauseMs: 0 };
  expect(cutUp(Buffer.from("abcdef"), pieces).map(String)).toEqual(expected);
  const marked = shellPieces(pieces).replaceAll("sleep 0", "printf '|'");
  const script = `body() { printf abcdef; }; ${marked}`;
  const printed = execFileSync("bash", ["-c", script], { encoding: "utf8" });
  expect(printed.split("|").filter((piece) => piece !== "")).toEqual(expected);
});

function shown(standing: PresentedResult["standing"], failed: boolean): PresentedResult {
  const check = {
    id: "wire.x",
    title: "a, b: 100%",
    level: "must",
    group: "wire",
    spec: RULES.once,
    hint: "Mend it.",
  } as const;
  return {
    check,
    standing,
    failed,
    explanation: `It is ${standing}.`,
    durationMs: 1,
    evidence: [],
    curl: [],
    again: "",
  };
}

function reportOf(results: PresentedResult[], more: Partial<PresentedReport> = {}): PresentedReport {
  const counts = { passed: 0, failed: 0, advice: 0, unverified: 0, known: 0 };
  const common = { verdict: "failed", startedAt: new Date(0), durationMs: 1, notRun: 0, seed: "1" } as const;
  const said = { incomplete: undefined, unproven: undefined };
  return { ...common, ...said, counts, groups: [], receiverOutput: [], results, ...more };
}

const TITLE = "title=wire.x%3A a%2C b%3A 100%25";

test.each<[string, PresentedReport, string[]]>([
  ["passed", reportOf([shown("passed", false)]), []],
  ["failed", reportOf([shown("failed", true)]), [`::error ${TITLE}::It is failed. Fix: Mend it.`]],
  ["advice", reportOf([shown("advice", true)]), [`::warning ${TITLE}::It is advice. Fix: Mend it.`]],
  ["known", reportOf([shown("known", true)]), [`::warning ${TITLE}::It is known. Fix: Mend it.`]],
  ["known as unverified", reportOf([shown("known", false)]), []],
  [
    "unverified twice for one reason",
    reportOf([shown("unverified", false), shown("unverified", false)], { unproven: "Give more." }),
    ["::notice title=unverified: 2::It is unverified.%0AGive more."],
  ],
  [
    "incomplete",
    reportOf([shown("unverified", false)], { verdict: "incomplete", incomplete: "50% done" }),
    ["::error title=verify did not come to its end::50%25 done"],
  ],
  [
    "not there",
    reportOf([shown("unverified", false)], { verdict: "could_not_run" }),
    ["::error title=verify could not run::It is unverified."],
  ],
])("what is %s is annotated so", (_what, report, lines) => {
  expect(githubReport(report)).toBe(lines.map((line) => `${line}\n`).join(""));
});

test.each([
  ["passed", undefined],
  ["failed", undefined],
  ["incomplete", "It is unverified."],
  ["could_not_run", "It is unverified."],
] as const)("of a run whose verdict is %s JUnit is told the error %s", (verdict, error) => {
  const xml = junitReport(reportOf([shown("unverified", false)], { verdict }));
  const expected = error === undefined ? [] : [`<error message="${error}"/>`];
  expect(xml.match(/<error [^>]*>/g) ?? []).toEqual(expected);
  expect(xml).toContain(`failures="0" errors="${expected.length}"`);
});
