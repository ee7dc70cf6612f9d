import { expect, test } from "vitest";
import { GENUINE, moment } from "../../simulator/signature-recipe/recipe.ts";
import type { Exchange } from "../../simulator/verify/delivery.ts";
import { type CheckResult, countResults, EXIT_CODES, type Report } from "../../simulator/verify/report.ts";
import { jsonReport } from "../../simulator/verify/reports/json.ts";
import { junitReport } from "../../simulator/verify/reports/junit.ts";
import { markdownReport } from "../../simulator/verify/reports/markdown.ts";
import { present } from "../../simulator/verify/reports/presented.ts";
import { prettyReport } from "../../simulator/verify/reports/pretty.ts";
import { RULES } from "../../simulator/verify/rules.ts";

/** Every part of a report, held against the run that it tells of. */

const exchange = (status: number | undefined, note?: string): Exchange => ({
  eventId: "evt_1",
  request: {
    url: "http://me:secret@127.0.0.1:1/hooks",
    headers: [["Content-Type", "application/json"]],
    body: Buffer.from("{}"),
    signature: { headerName: "X-Service-Signature", recipe: { t: [moment(0)], headers: GENUINE.headers } },
    httpVersion: "1.1",
    note,
  },
  outcome:
    status === undefined
      ? { kind: "no_answer", error: "timeout", message: "No answer within 10 s." }
      : { kind: "answered", status, headers: [["x-a", "b"]], body: Buffer.from("no"), complete: true },
  durationMs: 12.4,
});

type Made = Partial<Omit<CheckResult, "check">> & { level?: "must" | "advice"; group?: "wire" | "load" };

function result(name: string, { level = "must", group = "wire", ...made }: Made): CheckResult {
  const id = `${group}.${name}`;
  const check = { id, title: `does ${name}`, level, group, spec: RULES.once, hint: `Mend ${name}.` } as const;
  return { check, outcome: "passed", exchanges: [], durationMs: 1.6, ...made };
}

const RESULTS = [
  result("passed", {}),
  result("noted", { explanation: "It is so." }),
  result("failed", {
    outcome: "failed",
    explanation: "It broke.",
    exchanges: [exchange(500), exchange(undefined, "Cut.")],
  }),
  result("advised", {
    outcome: "failed",
    level: "advice",
    explanation: "It could.",
    exchanges: [exchange(undefined, "Cut.")],
  }),
  result("old", { outcome: "failed", explanation: "It breaks.", known: true, exchanges: [exchange(401)] }),
  result("open", { outcome: "unverified", explanation: "Nobody knows." }),
  result("open-too", { outcome: "unverified", explanation: "Nobody knows." }),
  result("fine", { group: "load" }),
];

function reportOf(changes: Partial<Report> = {}): Report {
  return {
    url: "http://me:secret@127.0.0.1:1/hooks",
    seed: "s 1",
    invocation: { start: "verify U", end: " -- run" },
    startedAt: new Date(1_800_000_000_123),
    durationMs: 5_260,
    verdict: "failed",
    results: RESULTS,
    notRun: 3,
    receiverOutput: ["one", "two"],
    ...changes,
  };
}

test("the JSON has each field of the run, evidence of what failed alone, and no password", () => {
  const told = (one: CheckResult) => ({
    id: one.check.id,
    group: one.check.group,
    title: one.check.title,
    level: one.check.level,
    outcome: one.outcome,
    known: one.known,
    duration_ms: 2,
    rule: RULES.once,
    explanation: one.explanation,
  });
  const aCurl: unknown = expect.stringContaining("curl -sS -i -m 10");
  const evidence = ({ outcome, request }: Exchange) => ({
    sent: {
      method: "POST",
      url: "http://127.0.0.1:1/hooks",
      headers: [["Content-Type", "application/json"]],
      body: "{}",
      note: request.note,
    },
    received:
      outcome.kind === "answered"
        ? { status: outcome.status, headers: [["x-a", "b"]], body: "no" }
        : { error: "timeout", message: "No answer within 10 s." },
    duration_ms: 12,
    curl: request.note === undefined ? aCurl : undefined,
  });
  const expected = {
    object: "verify_report",
    version: 1,
    url: "http://127.0.0.1:1/hooks",
    seed: "s 1",
    started_at: "2027-01-15T08:00:00.123Z",
    duration_ms: 5_260,
    verdict: "failed",
    summary: { passed: 3, failed: 1, advice: 1, unverified: 2, known: 1, not_run: 3 },
    checks: RESULTS.map((one) => ({
      ...told(one),
      ...(one.outcome === "failed" && {
        hint: one.check.hint,
        repeat: `verify U --only ${one.check.id} --seed 's 1' -- run`,
        evidence: one.exchanges.map(evidence),
      }),
    })),
    receiver_output: ["one", "two"],
  };
  expect(JSON.parse(jsonReport(reportOf()))).toEqual(withoutUndefined(expected));
  expect(
    JSON.parse(jsonReport(reportOf({ verdict: "incomplete", incomplete: "It was cut." }))),
  ).toMatchObject({
    verdict: "incomplete",
    incomplete: "It was cut.",
  });
});

/** As JSON has it: a field without a value is not there. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null || "asymmetricMatch" in value) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) =>
      inner === undefined ? [] : [[name, withoutUndefined(inner)]],
    ),
  );
}

const styled = (report: Report) => prettyReport(present(report), (style, text) => `<${style}:${text}>`);

test("a person sees each group with its worst mark and its counts, and of what failed all there is", () => {
  const lines = styled(reportOf()).split("\n");
  const after = (from: string, count: number) => {
    const at = lines.findIndex((line) => line.includes(from));
    return lines.slice(at, at + count);
  };
  expect(lines.filter((line) => /^<\w+:.> <bold:/.test(line))).toEqual([
    "<red:✗> <bold:wire            > 2 passed, 1 failed, 1 advice, 1 known, 2 unverified",
    "<green:✓> <bold:load            > 1 passed",
  ]);
  const rule = `    rule:     ${RULES.once.text} <dim:(${RULES.once.section}; ${RULES.once.page})>`;
  expect(after("wire.failed>", 8)).toEqual([
    "  <red:✗> <bold:wire.failed>  does failed",
    "    It broke.",
    rule,
    "    fix:      Mend failed.",
    "    sent:     POST http://127.0.0.1:1/hooks",
    "          Content-Type: application/json",
    "          {}",
    "    received: 500 after 12 ms: no",
  ]);
  expect(after("wire.advised>", 9)).toEqual([
    "  <yellow:!> <bold:wire.advised>  does advised<dim: (advice)>",
    "    It could.",
    rule,
    "    fix:      Mend advised.",
    "    sent:     POST http://127.0.0.1:1/hooks — Cut.",
    "          Content-Type: application/json",
    "          {}",
    "    received: nothing after 12 ms: No answer within 10 s.",
    "    again:    verify U --only wire.advised --seed 's 1' -- run",
  ]);
  expect(lines.filter((line) => /wire\.(?:noted|old|open)/.test(line))).toEqual([
    "  <green:✓> wire.noted: <dim:It is so.>",
    "  <yellow:?> wire.open, wire.open-too: Nobody knows.",
  ]);
  expect(lines.slice(-6)).toEqual([
    "<bold:The receiver's last lines>",
    "<dim:  receiver | one>",
    "<dim:  receiver | two>",
    "",
    "<red:FAILED>  3 passed, 1 failed, 1 advice, 2 unverified, 1 known from the baseline, 3 not run  <dim:5.3 s, seed s 1>",
    "",
  ]);
});

const COUNTS = "0 passed, 0 failed, 0 advice, 0 unverified";

test.each<[Partial<Report>, string, string, number]>([
  [{ verdict: "passed" }, `<green:PASSED>  ${COUNTS}`, "✅ passed", 0],
  [{ verdict: "failed" }, `<red:FAILED>  ${COUNTS}`, "❌ failed", 1],
  [{ verdict: "could_not_run" }, "<red:COULD NOT RUN>  nothing was verified", "⚠️ could not run", 3],
  [
    { verdict: "incomplete", incomplete: "It was cut." },
    `<red:INCOMPLETE>  It was cut.  ${COUNTS}`,
    "⚠️ incomplete",
    3,
  ],
])(
  "a run that ended so is told so, its receiver's last lines where it did not pass: %j",
  (changes, words, heading, code) => {
    const report = reportOf({
      ...changes,
      results: [],
      notRun: 0,
      receiverOutput: Array.from({ length: 31 }, (_, n) => `line ${n}`),
    });
    const text = styled(report);
    expect(text.trimEnd().split("\n").at(-1)).toBe(`${words}  <dim:5.3 s, seed s 1>`);
    expect(text.match(/receiver \| line \d+/g) ?? []).toEqual(
      report.verdict === "passed" ? [] : Array.from({ length: 30 }, (_, n) => `receiver | line ${n + 1}`),
    );
    const markdown = markdownReport(present(report));
    expect(markdown.split("\n")[0]).toBe(`### Webhook receiver: ${heading}`);
    expect(markdown.split("\n").includes("It was cut.")).toBe(report.incomplete !== undefined);
    expect(EXIT_CODES[report.verdict]).toBe(code);
  },
);

test("Markdown has failures before advice, a reason once, and the line that repeats each", () => {
  const text = markdownReport(present(reportOf()));
  const order = ["wire.failed", "Advice:", "wire.advised", "Unverified:", "- Nobody knows."].map((part) =>
    text.indexOf(part),
  );
  expect(order.every((at) => at > 0)).toBe(true);
  expect(order).toEqual(order.toSorted((left, right) => left - right));
  expect(text.match(/Nobody knows/g)).toHaveLength(1);
  expect(text).not.toContain("wire.old");
  const [failed = "", advised = ""] = text.split("<details>").slice(1);
  // The curl of what was sent; where none can repeat it, the command that runs the check again.
  expect(failed).toMatch(/```sh\nbody\(\) \{[^]*curl -sS -i -m 10[^]*```\n/);
  expect(advised).toContain("```sh\nverify U --only wire.advised --seed 's 1' -- run\n```\n");
  expect(failed).toContain("It broke.\n\n- Rule: ");
  expect(failed).toContain("- Fix: Mend failed.");
  const { passed, failed: wrong, advice, unverified } = countResults(RESULTS.slice(0, -1));
  expect(text).toContain(`| wire | ${passed} | ${wrong} | ${advice} | ${unverified} |`);
});

test.each(["passed", "failed", "could_not_run", "incomplete"] as const)(
  "a build server that adds up JUnit's suites and cases finds what is announced: %s",
  (verdict) => {
    const incomplete = verdict === "incomplete" ? "It was cut." : undefined;
    const xml = junitReport(present(reportOf({ verdict, incomplete })));
    const numbers = (tag: string) => {
      const found = { tests: 0, failures: 0, errors: 0, skipped: 0 };
      for (const [element] of xml.matchAll(new RegExp(`<${tag} [^>]*>`, "g")))
        for (const name of ["tests", "failures", "errors", "skipped"] as const)
          found[name] += Number(new RegExp(` ${name}="(\\d+)"`).exec(element)?.[1]);
      return found;
    };
    const count = (tag: string) => xml.match(new RegExp(`<${tag}[ >/]`, "g"))?.length ?? 0;
    const isBroken = verdict === "could_not_run" || verdict === "incomplete";
    expect(numbers("testsuites")).toEqual(numbers("testsuite"));
    expect(numbers("testsuites")).toEqual({
      tests: count("testcase"),
      failures: count("failure"),
      errors: count("error"),
      skipped: count("skipped"),
    });
    expect(count("testcase")).toBe(RESULTS.length + (isBroken ? 1 : 0));
    expect(xml).toContain('timestamp="2027-01-15T08:00:00.123Z"');
    expect(xml).toContain('time="5.260"');
  },
);
