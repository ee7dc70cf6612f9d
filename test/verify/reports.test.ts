import { expect, onTestFinished, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Verdict } from "../../simulator/verify/check.ts";
import { failed, unverified } from "../../simulator/verify/judgement.ts";
import { reachableCheck } from "../../simulator/verify/preflight.ts";
import { type Report, resultOf } from "../../simulator/verify/report.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { parseReportTargets } from "../../simulator/verify/reports/targets.ts";
import { createRedactor } from "../../simulator/text/redact.ts";
import { QUICK_RUN } from "../mutants/judge.ts";
import { startMutant } from "../mutants/receiver.ts";
import { exchange } from "./exchange.ts";
import { written } from "./written.ts";

test("a report's file is everything after the first =, and with --json nothing else goes to stdout", () => {
  expect(parseReportTargets(["junit=out/run=3/verify.xml", "json=a="], true)).toEqual({
    ok: true,
    targets: [
      { format: "json" },
      { format: "junit", file: "out/run=3/verify.xml" },
      { format: "json", file: "a=" },
    ],
  });
  expect(parseReportTargets(["json="], false)).toMatchObject({ ok: false });
  expect(parseReportTargets(["github"], true)).toMatchObject({ ok: false });
  expect(parseReportTargets(["json", "github=a"], true)).toMatchObject({ ok: true });
  expect(parseReportTargets(["github"], false)).toMatchObject({ targets: [{ format: "pretty" }, {}] });
});

test("every format groups failures by cause, each with one fix and its checks", async () => {
  const receiver = await startMutant({ duplicateStatus: 409, verdict: () => true }, Date.now);
  onTestFinished(() => receiver.close());
  const only = /^(?:signature\.(?:wrong-secret|no-t)|duplicates\.(?:in-sequence|hour-between))$/;
  const checks = CATALOGUE.filter(({ id }) => only.test(id));
  const report = await runChecks({ ...QUICK_RUN, url: receiver.url, checks });
  const { causes } = JSON.parse(await written(report, "json")) as {
    causes: { cause: string; fix: string; checks: string[] }[];
  };
  expect(causes.map(({ cause, checks: ids }) => [cause, ids])).toEqual([
    ["forgery_accepted", ["signature.no-t", "signature.wrong-secret"]],
    ["duplicate_refused", ["duplicates.in-sequence", "duplicates.hour-between"]],
  ]);
  for (const format of ["pretty", "markdown", "github", "junit"]) {
    const text = await written(report, format);
    for (const { fix } of causes) expect(text.replaceAll(/&#\d+;/g, ".").length).toBeGreaterThan(fix.length);
    expect(text).toContain("signature.no-t");
  }
  // Two checks with different fixes get the fix of their cause; a single one keeps its own.
  expect(causes[0]?.fix).toMatch(/^Verify X-Service-Signature/);
  const one = { ...report, results: report.results.filter(({ check }) => check.id === "signature.no-t") };
  expect(await written(one, "pretty")).toContain("fix: Take the header apart into key=value pairs");
});

/** A report of a run that sent nothing, with these verdicts in the order of the catalogue. */
function reportOf(verdicts: Record<string, Verdict>, changes: Partial<Report> = {}): Report {
  const about = { durationMs: 250, redact: createRedactor([]) };
  const known = [reachableCheck, ...CATALOGUE];
  const results = Object.entries(verdicts).flatMap(([id, verdict]) =>
    known.filter((check) => check.id === id).map((check) => resultOf(check, verdict, about)),
  );
  const run = { url: "http://localhost:1/", seed: "1", startedAt: new Date(0), durationMs: 1_500, notRun: 3 };
  const invocation = { start: "verify", end: "" };
  return { ...run, invocation, verdict: "failed", results, receiverOutput: [], ...changes };
}

/** What a receiver wrote, one line more than a report shows. */
const LINES = Array.from({ length: 31 }, (_, index) => `line ${index}`);
const LAST_LINES = LINES.slice(1).map((line) => `  receiver | ${line}\n`);

test.each<[Partial<Report>, said: Record<string, string>]>([
  [
    { verdict: "incomplete", incomplete: "It was interrupted." },
    {
      junit: '<error message="It was interrupted."/>',
      github: "::error title=verify did not finish::It was interrupted.\n",
      markdown:
        "⚠️ incomplete\n\n1 passed, 0 failed, 0 advice, 1 unverified · 1.5 s · seed <code>1</code>\n\nIt was",
      pretty: "INCOMPLETE  It was interrupted.  1 passed, 0 failed, 0 advice, 1 unverified, 3 not run",
    },
  ],
  [
    { verdict: "could_not_run", receiverOutput: LINES },
    {
      junit: '<error message="Nothing listens."/>',
      github: "::error title=verify could not run::Nothing listens.\n",
      markdown: "### Webhook receiver: ⚠️ could not run\n",
      pretty: `The receiver's last lines\n${LAST_LINES.join("")}\nCOULD NOT RUN  nothing was verified`,
    },
  ],
])("a run that ended as %o looks like none that passed, in any format", async (changes, said) => {
  const passed: Verdict = { outcome: "passed", note: "One thing more." };
  const verdicts = { "preflight.reachable": unverified("Nothing listens."), "load.burst": passed };
  const report = reportOf(verdicts, changes);
  for (const [format, text] of Object.entries(said)) expect(await written(report, format)).toContain(text);
  expect(await written(report, "junit")).toContain('tests="3" failures="0" errors="1" skipped="1"');
  expect(await written(report, "github")).not.toContain("::notice");
  expect(await written(report, "pretty")).toContain("✓ load.burst: One thing more.\n");
  expect(await written(report, "markdown")).toContain("Unverified:\n\n- Nothing listens.\n");
  const fine = reportOf({ "load.burst": passed }, { verdict: "passed", receiverOutput: LINES });
  expect(await written(fine, "pretty")).not.toContain("receiver |");
});

test("reports count what failed, what was left open and how long it took; advice is no failure", async () => {
  const wrong = failed("refused");
  const wire: Verdict = { outcome: "passed" };
  const load = { "load.burst": wrong, "load.among-forgeries": wrong, "load.prompt": wrong };
  const open = unverified("It is unknown.");
  const effects = { "effects.each-type": open, "effects.at-once": open, "effects.burst": open };
  const report = reportOf({ ...load, "wire.not-http": wire, ...effects });
  const text = await written(report, "junit");
  expect(text).toContain('tests="7" failures="2" errors="0" skipped="3" time="1.500"');
  expect(text).toContain(
    '<testsuite name="load" tests="3" failures="2" errors="0" skipped="0" time="0.750">',
  );
  expect(text).toContain('<testsuite name="effects" tests="3" failures="0" errors="0" skipped="3"');
  expect(await written(report, "github")).toMatch(/^::error .*load\.burst.*\n::warning .*load\.prompt/);
  expect(await written(report, "markdown")).toMatch(/<summary>A signed [^]*<summary>Advice: /);
  expect(await written(report, "pretty")).toContain(`  ? ${Object.keys(effects).join(", ")}: It is unknown.`);
  const { duration_ms: tookMs, checks } = JSON.parse(await written(report, "json"));
  expect([tookMs, checks[0].duration_ms]).toEqual([1_500, 250]);
});

test.each([20, 21])(
  "of %i checks with one cause, the first has its evidence, and not all are named",
  async (count) => {
    const ids = CATALOGUE.filter(({ level }) => level === "must")
      .map(({ id }) => id)
      .slice(0, count);
    const lost = exchange("timeout");
    lost.request.note = "One of ten.";
    const report = reportOf(
      Object.fromEntries(ids.map((id) => [id, failed("timed_out", "It is late.", [lost, exchange(500)])])),
    );
    const markdown = await written(report, "markdown");
    const named = ids.slice(0, 20).map((id) => `<code>${id}</code>`);
    expect(markdown).toContain(`\n${named.join(", ")}${count > 20 ? " and 1 more" : ""}\n`);
    // A request among others cannot be repeated by one curl.
    expect(markdown).toContain(`\`\`\`sh\nverify --only ${ids[0]} --seed 1\n\`\`\``);
    const pretty = await written(report, "pretty");
    expect(pretty).toContain(`    ${ids[12]}  `);
    expect(pretty).not.toContain(`    ${ids[13]}  `);
    expect(pretty).toContain(`    … and ${count - 13} more`);
    for (const text of [markdown, pretty]) {
      expect(text).toContain("sent:     POST http://127.0.0.1:1/ — One of ten.");
      expect(text).toContain("received: nothing after 1 ms: No answer within 10 s.");
    }
    const bare = await written(reportOf({ "load.burst": failed("not_drained") }), "markdown");
    expect(bare).not.toContain("```text");
  },
);
