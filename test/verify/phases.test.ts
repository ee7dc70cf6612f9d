import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { ReceiverProcess } from "../../simulator/processes/receiver-process.ts";
import type { Check, Phase, Verdict } from "../../simulator/verify/check.ts";
import type { CheckContext } from "../../simulator/verify/context.ts";
import { NEEDS } from "../../simulator/verify/context.ts";
import { allAcknowledged, failed, whenSettled } from "../../simulator/verify/judgement.ts";
import type { Report } from "../../simulator/verify/report.ts";
import { ruleOf } from "../../simulator/verify/rules.ts";
import { type RunOptions, runChecks } from "../../simulator/verify/run.ts";
import { QUICK, QUICK_RUN } from "../mutants/judge.ts";
import { SECRET, startMutant } from "../mutants/receiver.ts";
import { exchange } from "./exchange.ts";
import { fakeProcess } from "./fake-process.ts";

/** How a run schedules its checks: their order, which run in parallel, the progress, and what is left out. */

const PASSED: Verdict = { outcome: "passed" };

function check(id: string, changes: Partial<Check> = {}): Check {
  const about = { title: `does ${id}`, level: "must", group: "wire", spec: ruleOf("once") } as const;
  return { ...about, id, run: () => Promise.resolve(PASSED), ...changes };
}

async function play(checks: Check[], options: Partial<RunOptions> = {}) {
  const receiver = await startMutant({}, Date.now);
  onTestFinished(() => receiver.close());
  const given = { ...QUICK_RUN, url: receiver.url, checks, ...options };
  return { receiver, report: await runChecks(given) };
}

/** What a report says of each check behind the preflight. */
const toldOf = ({ results }: Report) =>
  results.slice(2).map(({ outcome, explanation, exchanges }) => [outcome, explanation, exchanges.length]);

test("the order is: musts by phase, kills, advice, and last the checks that send what the service never sends", async () => {
  const begun: string[] = [];
  const most = new Map<string, number>();
  let underWay = 0;
  const PLAYED = ["odd", "crash", "last", "alone", "stalled", "together"] as const;
  const played = (level: Check["level"], phase: Phase) => async () => {
    begun.push(`${level} ${phase}`);
    underWay += 1;
    most.set(phase, Math.max(most.get(phase) ?? 0, underWay));
    await sleep(1);
    underWay -= 1;
    return PASSED;
  };
  const several = (level: Check["level"], phase: Phase) =>
    Array.from({ length: 12 }, (_, n) =>
      check(`wire.${level}-${phase}-${n}`, { level, phase, run: played(level, phase) }),
    );
  const checks = (["advice", "must"] as const)
    .flatMap((level) => PLAYED.flatMap((phase) => several(level, phase)))
    .filter(
      ({ level, phase }) =>
        (phase === "odd") === (level === "advice") || !["odd", "crash"].includes(phase ?? ""),
    );
  const { report } = await play(checks);
  expect(report).toMatchObject({ verdict: "passed", notRun: 0, incomplete: undefined });
  expect([...new Set(begun)].join(", ")).toBe(
    "must together, must stalled, must alone, must last, must crash, " +
      "advice together, advice stalled, advice alone, advice last, advice odd",
  );
  const atOnce = { together: 8 + 12, stalled: 8 + 12, alone: 1, last: 1, crash: 1, odd: 1 };
  expect(Object.fromEntries(most)).toEqual(atOnce);
  // In the given order, whichever ended first.
  expect(report.results.slice(2).map((result) => result.check.id)).toEqual(checks.map(({ id }) => id));
});

test("a failure that does not recur has the cause `sometimes`", async () => {
  const tries = new Map<string, number>();
  const failing = (id: string, times: number): Check =>
    check(id, {
      run: async ({ deliver, event }) => {
        tries.set(id, (tries.get(id) ?? 0) + 1);
        await deliver(event());
        return (tries.get(id) ?? 0) > times ? PASSED : failed("server_error", "It answered 500.");
      },
    });
  const { report } = await play([failing("wire.once", 1), failing("wire.always", 9)]);
  expect(report.results.slice(2).map(({ outcome, cause }) => [outcome, cause])).toEqual([
    ["failed", "sometimes"],
    ["failed", "server_error"],
  ]);
  expect(Object.fromEntries(tries)).toEqual({ "wire.once": 2, "wire.always": 2 });
});

test("each completed check is reported with the progress and, if it passed, its last three exchanges", async () => {
  const progress: unknown[] = [];
  const results: [id: string, ids: string[]][] = [];
  const sent: string[] = [];
  const sending =
    (count: number, verdict?: (context: CheckContext) => Verdict) => async (context: CheckContext) => {
      for (let n = 0; n < count; n += 1) sent.push((await context.deliver(context.event())).eventId);
      return verdict?.(context) ?? PASSED;
    };
  const { report } = await play(
    [
      check("wire.five", { phase: "alone", run: sending(5) }),
      check("wire.note", { phase: "alone", run: sending(1, () => ({ ...PASSED, note: "It is so." })) }),
      check("wire.wrong", { phase: "alone", run: sending(2, () => failed("leaked", `It told ${SECRET}.`)) }),
      check("wire.open", { run: () => Promise.resolve({ outcome: "unverified", reason: "Nobody knows." }) }),
    ],
    {
      onProgress: (one) => progress.push(one),
      onResult: (one) => results.push([one.check.id, one.exchanges.map(({ eventId }) => eventId)]),
    },
  );
  expect(results).toEqual([
    ["preflight.reachable", []],
    ["preflight.accepts", []],
    ["wire.open", []],
    ["wire.five", sent.slice(2, 5)],
    ["wire.note", sent.slice(5, 6)],
    ["wire.wrong", []],
  ]);
  const title = "waiting for the receiver to accept a delivery";
  expect(progress.at(0)).toEqual({ done: 0, total: 4, title });
  expect(progress.at(-1)).toEqual({ done: 4, total: 4, title: "does wire.wrong" });
  expect(report.verdict).toBe("failed");
  expect(toldOf(report)).toEqual([
    ["passed", undefined, 0],
    ["passed", "It is so.", 0],
    ["failed", "It told [redacted].", 0],
    ["unverified", "Nobody knows.", 0],
  ]);
});

test("the progress reports how many events are still to be handled", async () => {
  const readings = new Map<string, number>();
  const titles: string[] = [];
  const sending = check("wire.three", {
    run: async ({ deliver, event }) => {
      await Promise.all([deliver(event()), deliver(event()), deliver(event())]);
      return whenSettled(() => PASSED);
    },
  });
  await play([sending], {
    observe: async (id) => {
      readings.set(id, (readings.get(id) ?? 0) + 1);
      return { known: true, count: (readings.get(id) ?? 0) > 3 ? 1 : 0 };
    },
    onProgress: ({ title }) => titles.push(title),
  });
  expect(titles).toContain("waiting for 3 events to be handled");
});

test("an unverified check names its first missing requirement", async () => {
  const checks = [
    check("wire.none"),
    check("wire.observe", { needs: ["observe"] }),
    check("wire.command", { needs: ["command"] }),
    check("wire.all", { needs: ["observe", "command"] }),
  ];
  const reasonsWith = async (options: Partial<RunOptions>) => {
    const { report } = await play(checks, options);
    return report.results
      .filter((one) => one.check.group === "wire")
      .map(({ outcome, explanation }) => (outcome === "passed" ? outcome : explanation));
  };
  const { observe, command } = NEEDS;
  expect(await reasonsWith({})).toEqual(["passed", observe, command, observe]);
  const handled = { observe: () => Promise.resolve({ known: true as const, count: 1 }) };
  expect(await reasonsWith(handled)).toEqual(["passed", "passed", command, command]);
  const receiver = fakeProcess({});
  expect(await reasonsWith({ receiver })).toEqual(["passed", observe, "passed", observe]);
  expect(await reasonsWith({ ...handled, receiver })).toEqual(checks.map(() => "passed"));
});

test("a receiver that is brought down fails the check that did it, and the others say which that was", async () => {
  for (const isOurs of [false, true]) {
    const receiver = await startMutant({}, Date.now);
    let again: Awaited<ReturnType<typeof startMutant>> | undefined;
    onTestFinished(() => again?.close());
    const port = Number(new URL(receiver.url).port);
    const restart: ReceiverProcess["restart"] = async () => {
      again = await startMutant({}, Date.now, port);
      return { ok: true, receiver: process };
    };
    const process: ReceiverProcess = fakeProcess({ restart });
    const down = check("wire.down", {
      phase: "alone",
      run: async ({ deliver, event }) => {
        await deliver(event());
        await receiver.close();
        return PASSED;
      },
    });
    const checks = [down, check("wire.next", { phase: "alone" }), check("wire.end", { phase: "last" })];
    const { report } = await play(checks, { url: receiver.url, ...(isOurs && { receiver: process }) });
    expect(report.receiverOutput).toEqual(isOurs ? ["a line", "its secret: [redacted]"] : []);
    const since = "The receiver no longer listens since the check wire.down.";
    const next = isOurs ? ["passed", undefined, 0] : ["unverified", since, 0];
    const ended = "The receiver no longer listens after this: it ended, or closed its port.";
    expect(toldOf(report)).toEqual([["failed", ended, 1], next, next]);
  }
});

test("of parallel checks, the one that crashes the receiver fails, and the others are judged after a restart", async () => {
  let running = await startMutant({}, Date.now);
  onTestFinished(() => running.close());
  const { url } = running;
  const process = fakeProcess({
    restart: async () => {
      running = await startMutant({}, Date.now, Number(new URL(url).port));
      return { ok: true, receiver: process };
    },
  });
  const sending = (id: string) =>
    check(id, { run: async ({ deliver, event }) => allAcknowledged([await deliver(event())]) });
  const deadly = check("wire.deadly", {
    run: async ({ deliver, event }) => {
      await running.close();
      return allAcknowledged([await deliver(event())]);
    },
  });
  const others = Array.from({ length: 20 }, (_, n) => sending(`wire.other-${n}`));
  const checks = [...others.slice(10), deadly, ...others.slice(0, 10)];
  const { report } = await play(checks, { url, receiver: process });
  const failures = report.results.filter(({ outcome }) => outcome !== "passed");
  expect(failures.map(({ check: { id }, cause }) => [id, cause])).toEqual([["wire.deadly", "ended"]]);
});

test("once a must has timed out only what is tried for the last time is waited for in full, advice is not", async () => {
  const waits: string[] = [];
  const late = { outcome: "unverified", reason: "It was cut short.", isLate: true } as const;
  const waiting = (id: string, level: Check["level"]) =>
    check(id, {
      level,
      run: async ({ answerTimeoutMs }) => {
        waits.push(`${id} ${answerTimeoutMs()}`);
        return answerTimeoutMs() > 5_000 ? PASSED : late;
      },
    });
  const timedOut = failed("timed_out", "", [exchange("timeout", { durationMs: 20_000 })]);
  const checks = [
    check("wire.slow", { run: async () => timedOut }),
    { ...waiting("wire.must", "must"), phase: "alone" as const },
    check("wire.last", { phase: "last", run: async () => (waits.push("wire.last"), PASSED) }),
    waiting("wire.advice", "advice"),
  ];
  const { report } = await play(checks, { timing: { ...QUICK, hurriedTimeoutMs: 1_000 } });
  const expected = "wire.must 1000, wire.must 20000, wire.last, wire.advice 1000, wire.advice 20000";
  expect(waits.join(", ")).toBe(expected);
  expect(report.results.filter(({ outcome }) => outcome !== "passed")).toHaveLength(1);
});
