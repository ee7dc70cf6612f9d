import { expect, onTestFinished, test } from "vitest";
import { createObserver } from "../../simulator/observer/observer.ts";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { NEEDS } from "../../simulator/verify/context.ts";
import { jsonReport } from "../../simulator/verify/reports/json.ts";
import { githubReport } from "../../simulator/verify/reports/github.ts";
import { markdownReport } from "../../simulator/verify/reports/markdown.ts";
import { present } from "../../simulator/verify/reports/presented.ts";
import { prettyReport } from "../../simulator/verify/reports/pretty.ts";
import { type CheckResult, EXIT_CODES, type Report } from "../../simulator/verify/report.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { groupByCause, unprovenSentence } from "../../simulator/verify/summary.ts";
import { QUICK, QUICK_RUN } from "../mutants/judge.ts";
import { startMutant } from "../mutants/receiver.ts";

/** The result of checks with these requirements: those without their requirement are unverified, the others passed. */
function resultsWithout(...missing: ("observe" | "command")[]): CheckResult[] {
  return CATALOGUE.filter(({ group }) => group !== "production").map((check) => {
    const lacking = check.needs?.find((need) => missing.some((one) => one === need));
    const explanation = lacking === undefined ? undefined : NEEDS[lacking];
    const outcome = lacking === undefined ? "passed" : "unverified";
    return { check, outcome, explanation, exchanges: [], durationMs: 0 };
  });
}

test("without --observe neither effects nor crashes are checked, and that option is named", () => {
  expect(unprovenSentence(resultsWithout("observe"))).toMatch(
    /^Unproven: whether each event is handled exactly once, and whether a crash loses and repeats nothing \(\d\d checks\)\. To prove it, give --observe 'http:[^ ]+ \(one line in your receiver: docs\/observe\.md\)\.$/,
  );
});

test("a receiver that verify did not start is not killed: the report asks for its command", () => {
  expect(unprovenSentence(resultsWithout("command"))).toMatch(
    /^Unproven: whether a crash loses and repeats nothing \(\d checks\)\. To prove it, give its command behind --\.$/,
  );
  expect(unprovenSentence(resultsWithout("observe", "command"))).toMatch(/ and its command behind --\.$/);
});

test("nothing is printed if no check is open, or if they are open for other reasons", () => {
  expect(unprovenSentence(resultsWithout())).toBeUndefined();
  const other = resultsWithout("observe").map((result) => ({ ...result, explanation: "It was not there." }));
  expect(unprovenSentence(other)).toBeUndefined();
});

test("failures come before advice of the same cause, and the cause of more failures before that of one", () => {
  const found = [0, 1, 2, 3].flatMap((n): CheckResult[] => {
    const check = CATALOGUE.find(({ level }) => level === (n === 0 ? "advice" : "must"));
    const cause = n < 2 ? "refused" : "slow";
    return check === undefined ? [] : [{ check, outcome: "failed", cause, exchanges: [], durationMs: 0 }];
  });
  const groups = groupByCause(found).map(({ standing, cause }) => `${standing} ${cause}`);
  expect(groups).toEqual(["failed slow", "failed refused", "advice refused"]);
});

test("the sentence is in the summary of a build server, its annotations and the JSON", () => {
  const results = resultsWithout("command");
  const run = { url: "http://localhost:3000/", seed: "1", startedAt: new Date(0), durationMs: 1, notRun: 0 };
  const invocation = { start: "verify", end: "" };
  const report: Report = { ...run, invocation, verdict: "passed", results, receiverOutput: [] };
  const sentence = unprovenSentence(results) ?? "";
  expect(markdownReport(present(report))).toContain("**Unproven: whether a crash");
  expect(githubReport(present(report))).toContain(`%0A${sentence}\n`);
  expect(JSON.parse(jsonReport(report))).toMatchObject({ unproven: sentence });
});

test("a run fails on an --observe URL that reports nothing, with one result", async () => {
  const receiver = await startMutant({}, Date.now);
  onTestFinished(() => receiver.close());
  const ran = await runChecks({
    ...QUICK_RUN,
    url: receiver.url,
    checks: CATALOGUE.filter(({ id }) => id === "effects.each-type"),
    observe: createObserver("http://127.0.0.1:1/{id}"),
    timing: { ...QUICK, settleMs: 100 },
  });
  const shown = prettyReport(present(ran), (_, text) => text);

  expect(EXIT_CODES[ran.verdict]).toBe(1);
  expect(shown).toContain("  preflight.observable  shows through --observe");
  expect(shown).toContain("effects.each-type: Effects could not be read back");
});
