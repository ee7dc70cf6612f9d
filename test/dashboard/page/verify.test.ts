import { h } from "preact";
import { expect, test } from "vitest";
import type { Check } from "../../../simulator/dashboard/app/core/types.ts";
import { openForms } from "./forms.ts";

/** A run of the checks, its report, and what each check shows. */

const { answers, sent, wait, open } = await openForms();
const { CheckRow } = await import("../../../simulator/dashboard/app/components/check-row.tsx");
const { Report } = await import("../../../simulator/dashboard/app/components/report.tsx");
const { VerifyPage } = await import("../../../simulator/dashboard/app/pages/verify.tsx");

const check = (id: string, outcome: string, level = "must", hint?: string) =>
  ({ id, title: id, outcome, level, hint }) as Check;

test("a report says its verdict, and what failed before advice, the fix for most of it first", async () => {
  const checks = [
    [check("p", "passed"), check("a", "failed", "advice", "advise"), check("u", "unverified")],
    [check("f1", "failed", "must", "one"), check("f2", "failed", "must", "most")],
    [check("f3", "failed", "must", "most"), check("n", undefined as never)],
  ].flat();
  const about = { checks, url: "u", seed: "s", duration_ms: 61_230, incomplete: null };
  const show = (verdict: string | null) =>
    h(Report, { report: { ...about, verdict } as never, children: null });
  const view = await open(show("failed"));
  expect(view.all("h2")).toEqual(["Failed", "Advice not followed", "Could not be judged", "Passed"]);
  const rows = view.byClass("check-row").map(({ attributes, parts }) => {
    const word = parts.findLast((part) => part.attributes.get("class")?.startsWith("chip"))?.words;
    return `${parts.find(({ localName }) => localName === "b")?.words} ${attributes.get("class")}: ${word}`;
  });
  expect(rows).toEqual([
    ...["f2", "f3", "f1"].map((id) => `${id} check-row bad: failed`),
    "a check-row wait: advice",
    ...["u", "n"].map((id) => `${id} check-row plain: not judged`),
    "p check-row ok: passed",
  ]);
  for (const words of ["2 checks, one fix: most", "61.2 s · seed s"]) expect(view.words()).toContain(words);
  await view.press("1 advice");
  expect(view.byClass("check-row")).toHaveLength(1);
  for (const [verdict, words] of Object.entries({
    passed: "The receiver passed",
    failed: "The receiver failed",
    could_not_run: "Nothing could be verified",
    incomplete: "The run did not finish",
  })) {
    await view.again(show(verdict));
    expect(view.byClass("report-verdict")[0]?.words).toContain(`${words}u`);
  }
  await view.again(show(null));
  expect(view.byClass("report-verdict")).toEqual([]);
});

test("only what a receiver must do is run again, and a run says how long it has lasted", async () => {
  const checks = [check("f1", "failed"), check("a", "failed", "advice"), check("p", "passed")];
  const run = { id: "vrf_1", endpoint_id: "ep_1", url: "http://x", verdict: "failed", seed: "s", checks };
  const show = async (more: object) => {
    answers["/verification"] = { verification: { ...run, ...more } };
    const view = await open(h(VerifyPage, {}));
    await wait(150);
    return view;
  };
  const ended = await show({ state: "ended" });
  await ended.press("Run the 1 failed again");
  expect(sent).toEqual([["POST", "/endpoints/ep_1/verify", { only: ["f1"] }]]);
  await ended.close();
  const started_at = new Date(Date.now() - 61_500).toISOString();
  const running = await show({ state: "running", verdict: null, done: 0, total: 90, started_at });
  expect(running.words()).toContain("0 of 90, 1 min 1 s: no answer yet");
  await running.press("Cancel");
  expect(sent.at(-1)?.[1]).toBe("/verification/cancel");
});

test("a check shows each request with its answer, or why there was none", async () => {
  const request = { method: "POST", url: "http://a/", headers: [["x", "y".repeat(2_001)]], body: "{}" };
  const answer = { status: 200, headers: [["a", "b"]], body: "took it" };
  const gone = { error: "reset", message: "gone" };
  const evidence = [answer, gone].map((received) => ({ sent: request, received }));
  const check = { id: "c", title: "", outcome: "failed", evidence } as unknown as Check;
  const { field } = await open(h(CheckRow, { check }));
  expect(field("Request: c, 1").words).toBe(`POST http://a/\nx: ${"y".repeat(1_999)}…\n\n{}`);
  expect(field("Answer: c, 1").words).toBe("HTTP 200\na: b\n\ntook it");
  expect(field("Answer: c, 2").words).toBe("reset: gone");
});
