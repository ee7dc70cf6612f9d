import { setTimeout as sleep } from "node:timers/promises";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { GENUINE, moment } from "../../simulator/signature-recipe/recipe.ts";
import type { Exchange } from "../../simulator/verify/delivery.ts";
import {
  countResults,
  type CheckResult,
  type Report,
  standingOf,
  verdictOf,
} from "../../simulator/verify/report.ts";
import { jsonReport } from "../../simulator/verify/reports/json.ts";
import { junitReport } from "../../simulator/verify/reports/junit.ts";
import { markdownReport } from "../../simulator/verify/reports/markdown.ts";
import { present } from "../../simulator/verify/reports/presented.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { RULES } from "../../simulator/verify/rules.ts";
import { openWire, parseTarget } from "../../simulator/verify/wire.ts";

type Kind = Pick<CheckResult, "outcome" | "known"> & { level: "must" | "advice" };

function result({ level, ...kind }: Kind, id = "raw-bytes.some", exchanges: Exchange[] = []): CheckResult {
  const check = {
    id,
    title: "does it",
    level,
    group: "raw-bytes",
    spec: RULES.once,
    hint: "Do it.",
  } as const;
  return { check, explanation: "It did not.", exchanges, durationMs: 1_234, ...kind };
}

const FAILED: Kind = { outcome: "failed", level: "must" };

test.each<[Kind, string]>([
  [{ outcome: "passed", level: "must" }, "passed"],
  [{ outcome: "passed", level: "advice" }, "passed"],
  [FAILED, "failed"],
  [{ outcome: "failed", level: "advice" }, "advice"],
  [{ outcome: "unverified", level: "must" }, "unverified"],
  [{ outcome: "unverified", level: "advice" }, "unverified"],
  [{ outcome: "failed", level: "must", known: true }, "known"],
  [{ outcome: "failed", level: "advice", known: true }, "known"],
  [{ outcome: "unverified", level: "must", known: true }, "known"],
])("%o counts as %s, and fails a run where it has to", (kind, standing) => {
  const one = result(kind);
  expect(standingOf(one)).toBe(standing);
  expect(countResults([one, one])[standingOf(one)]).toBe(2);
  const verdicts = [[], ["advice"], ["unverified"], ["advice", "unverified"]] as const;
  expect(verdicts.map((failOn) => verdictOf([one], [...failOn]))).toEqual(
    verdicts.map((failOn) =>
      standing === "failed" || failOn.some((name) => name === standing) ? "failed" : "passed",
    ),
  );
});

function reportOf(results: CheckResult[]): Report {
  return {
    url: "http://127.0.0.1:1/",
    seed: "1",
    invocation: { start: "verify", end: "" },
    startedAt: new Date(0),
    durationMs: 5_000,
    verdict: verdictOf(results),
    results,
    notRun: 0,
    receiverOutput: [],
  };
}

test("sums are those of their parts, in JUnit and in Markdown", () => {
  const kinds: Kind[] = [
    ...Array.from({ length: 23 }, () => FAILED),
    { outcome: "passed", level: "must" },
    { outcome: "failed", level: "advice" },
    { outcome: "unverified", level: "must" },
    { outcome: "unverified", level: "must", known: true },
    { outcome: "failed", level: "must", known: true },
  ];
  const presented = present(reportOf(kinds.map((kind, n) => result(kind, `raw-bytes.n${n}`))));
  const xml = junitReport(presented);
  const whole = /<testsuites [^>]*>/.exec(xml)?.[0];
  const suite = /<testsuite [^>]*>/.exec(xml)?.[0];
  expect(whole).toMatch(/tests="28" failures="23" errors="0" skipped="3" time="5\.000"/);
  expect(suite).toMatch(/tests="28" failures="23" errors="0" skipped="3" time="34\.552"/);
  expect(xml.match(/<failure /g)).toHaveLength(23);
  expect(xml.match(/<skipped /g)).toHaveLength(3);
  expect(xml.match(/<testcase /g)).toHaveLength(28);

  const markdown = markdownReport(presented);
  expect(markdown).toContain("1 passed, 23 failed, 1 advice, 1 unverified, 2 known · 5.0 s");
  expect(markdown).toContain("| raw-bytes | 1 | 23 | 1 | 1 |");
  expect(markdown).toContain("… and 3 more failures.");
  expect(markdown.match(/<details>/g)).toHaveLength(21);
  const few = markdownReport(present(reportOf(kinds.slice(0, 20).map((kind) => result(kind)))));
  expect(few).not.toContain("more failures");
});

test("a report as JSON has each duration in whole milliseconds, and when the run began", () => {
  const { started_at, duration_ms, checks } = JSON.parse(
    jsonReport({
      ...reportOf([result(FAILED)]),
      startedAt: new Date(1_800_000_000_123),
      durationMs: 5_000.4,
    }),
  ) as { started_at: string; duration_ms: number; checks: object[] };
  expect({ started_at, duration_ms }).toEqual({ started_at: "2027-01-15T08:00:00.123Z", duration_ms: 5_000 });
  expect(checks).toMatchObject([{ duration_ms: 1_234 }]);
});

test("a run begins when it begins", async () => {
  let nowMs = 1_800_000_000_000;
  const report = await runChecks({
    url: "http://127.0.0.1:1/",
    secret: "whsec_test",
    seed: "1",
    checks: [],
    timing: { readyMs: 0 },
    now: () => (nowMs += 1_000),
  });
  expect({ verdict: report.verdict, startedAt: report.startedAt }).toEqual({
    verdict: "could_not_run",
    startedAt: new Date(1_800_000_001_000),
  });
});

test("the evidence shows eight headers of those that tell something", () => {
  const told = Array.from({ length: 10 }, (_, n): [string, string] => [`X-${n}`, "v"]);
  const untold: [string, string][] = [
    ["Host", "h"],
    ["user-agent", "u"],
    ["Connection", "close"],
    ["CONTENT-LENGTH", "2"],
  ];
  const exchange: Exchange = {
    eventId: "evt_1",
    request: {
      url: "http://127.0.0.1:1/hooks",
      headers: [...untold, ...told],
      body: Buffer.from("{}"),
      signature: { headerName: "X-0", recipe: { t: [moment(0)], headers: GENUINE.headers } },
      httpVersion: "1.1",
    },
    outcome: {
      kind: "answered",
      status: 500,
      headers: [],
      body: Buffer.from("x".repeat(201)),
      complete: true,
    },
    durationMs: 7,
  };
  const [shown] = present(reportOf([result(FAILED, "raw-bytes.x", [exchange])])).results;
  expect(shown?.evidence).toEqual([
    "sent:     POST http://127.0.0.1:1/hooks",
    ...told.slice(0, 8).map(([name, value]) => `      ${name}: ${value}`),
    "      {}",
    `received: 500 after 7 ms: ${"x".repeat(200)}…`,
  ]);
});

test("an answer is due from when its connection was begun, however long the request took", async () => {
  const sockets: { destroy: () => void }[] = [];
  const server = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const wire = await openWire(parseTarget(`http://127.0.0.1:${port}/`), 3_000);
  await sleep(2_800);
  const askedAt = performance.now();
  expect(await wire.answer()).toMatchObject({
    kind: "no_answer",
    error: "timeout",
    message: "No answer within 3 s.",
  });
  expect(performance.now() - askedAt).toBeLessThan(2_700);
  wire.close();
});
