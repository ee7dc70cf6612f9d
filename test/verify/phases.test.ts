import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { ReceiverProcess } from "../../simulator/processes/receiver-process.ts";
import type { Check, Verdict } from "../../simulator/verify/check.ts";
import type { CheckContext } from "../../simulator/verify/context.ts";
import { NEEDS } from "../../simulator/verify/context.ts";
import { RULES } from "../../simulator/verify/rules.ts";
import { type RunOptions, runChecks } from "../../simulator/verify/run.ts";
import { QUICK } from "../mutants/judge.ts";
import { SECRET, startMutant } from "../mutants/receiver.ts";

/** How a run plays its checks: which beside which, in which order, what it tells meanwhile, and what it leaves out. */

const PASSED: Verdict = { outcome: "passed" };

function check(id: string, changes: Partial<Check> = {}): Check {
  const about = {
    title: `does ${id}`,
    level: "must",
    group: "wire",
    spec: RULES.once,
    hint: "Mend it.",
  } as const;
  return { ...about, id, run: () => Promise.resolve(PASSED), ...changes };
}

async function play(checks: Check[], options: Partial<RunOptions> = {}) {
  const receiver = await startMutant({}, Date.now);
  onTestFinished(() => receiver.close());
  const given = { url: receiver.url, secret: SECRET, seed: "1", checks, timing: QUICK, now: Date.now };
  return { receiver, report: await runChecks({ ...given, ...options }) };
}

test("checks run eight at a time, then those that hold connections all at once, then one by one, and kills at the end", async () => {
  const begun: string[] = [];
  const underWay = new Map<string, number>();
  const most = new Map<string, number>();
  const phases = ["crash", "last", "alone", "stalled", "together", "explore"] as const;
  const checks = phases.flatMap((phase) =>
    Array.from({ length: 20 }, (_, n) =>
      check(`wire.${phase}-${n}`, {
        ...(phase !== "together" && { phase }),
        run: async () => {
          begun.push(phase);
          underWay.set(phase, (underWay.get(phase) ?? 0) + 1);
          expect([...underWay].filter(([, count]) => count > 0).map(([name]) => name)).toEqual([phase]);
          most.set(phase, Math.max(most.get(phase) ?? 0, underWay.get(phase) ?? 0));
          await sleep(1);
          underWay.set(phase, (underWay.get(phase) ?? 0) - 1);
          return PASSED;
        },
      }),
    ),
  );
  const { report } = await play(checks);
  expect(report).toMatchObject({ verdict: "passed", notRun: 0, incomplete: undefined });
  expect([...new Set(begun)]).toEqual(["together", "stalled", "alone", "last", "crash", "explore"]);
  expect(Object.fromEntries(most)).toEqual({
    together: 8,
    stalled: 20,
    alone: 1,
    last: 1,
    crash: 1,
    explore: 1,
  });
  // In the order in which they were given, whichever was done first.
  expect(report.results.slice(2).map((result) => result.check.id)).toEqual(checks.map(({ id }) => id));
});

test("each check is told as it is done: how many are, which it was, and its last three exchanges where it passed", async () => {
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
      check("wire.wrong", {
        phase: "alone",
        run: sending(2, () => ({ outcome: "failed", problem: `It told ${SECRET}.`, exchanges: [] })),
      }),
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
  expect(progress).toEqual(
    [
      [0, "can be reached"],
      [0, "accepts genuine deliveries at all"],
      [1, "does wire.open"],
      [2, "does wire.five"],
      [3, "does wire.note"],
      [4, "does wire.wrong"],
    ].map(([done, title]) => ({ done, total: 4, title })),
  );
  expect(report.verdict).toBe("failed");
  expect(
    report.results
      .slice(2)
      .map(({ outcome, explanation, exchanges }) => [outcome, explanation, exchanges.length]),
  ).toEqual([
    ["passed", undefined, 0],
    ["passed", "It is so.", 0],
    ["failed", "It told [redacted].", 0],
    ["unverified", "Nobody knows.", 0],
  ]);
});

test("a check is left unverified for the first of its needs that is not there", async () => {
  const checks = [
    check("wire.none"),
    check("wire.observe", { needs: ["observe"] }),
    check("wire.command", { needs: ["command"] }),
    check("wire.clock", { needs: ["clock"] }),
    check("wire.all", { needs: ["observe", "command", "clock"] }),
  ];
  const reasonsWith = async (options: Partial<RunOptions>) => {
    const { report } = await play(checks, options);
    return report.results
      .filter((one) => one.check.group === "wire")
      .map(({ outcome, explanation }) => (outcome === "passed" ? outcome : explanation));
  };
  const { observe, command, clock } = NEEDS;
  expect(await reasonsWith({})).toEqual(["passed", observe, command, clock, observe]);
  const handled = { observe: () => Promise.resolve({ known: true as const, count: 1 }) };
  expect(await reasonsWith(handled)).toEqual(["passed", "passed", command, clock, command]);
  const process = fakeProcess();
  expect(await reasonsWith({ receiver: process })).toEqual(["passed", observe, "passed", clock, observe]);
  expect(await reasonsWith({ clockVariable: "AHEAD" })).toEqual([
    "passed",
    observe,
    command,
    "passed",
    observe,
  ]);
  expect(await reasonsWith({ ...handled, receiver: process, clockVariable: "AHEAD" })).toEqual(
    checks.map(() => "passed"),
  );
});

const NOT_AGAIN = { ok: false, reason: "died", message: "", output: [] } as const;

/** A process that cannot be started again, unless told otherwise. */
function fakeProcess(
  restart: ReceiverProcess["restart"] = () => Promise.resolve({ ...NOT_AGAIN, output: [] }),
): ReceiverProcess {
  const nothing = () => Promise.resolve();
  return {
    pid: 0,
    running: () => true,
    output: () => ["a line", `its secret: ${SECRET}`],
    exited: () => new Promise<never>(() => undefined),
    kill: nothing,
    stop: nothing,
    restart,
  };
}

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
    const process: ReceiverProcess = fakeProcess(restart);
    const down = check("wire.down", {
      phase: "alone",
      run: async ({ deliver, event }) => {
        await deliver(event());
        await receiver.close();
        return PASSED;
      },
    });
    const { report } = await play(
      [down, check("wire.next", { phase: "alone" }), check("wire.end", { phase: "last" })],
      {
        url: receiver.url,
        ...(isOurs && { receiver: process }),
      },
    );
    expect(report.receiverOutput).toEqual(isOurs ? ["a line", "its secret: [redacted]"] : []);
    const told = report.results
      .slice(2)
      .map(({ outcome, explanation, exchanges }) => [outcome, explanation, exchanges.length]);
    const since = "The receiver no longer listens since the check wire.down.";
    expect(told).toEqual([
      ["failed", "The receiver no longer listens after this: it ended, or closed its port.", 1],
      ...(isOurs
        ? [
            ["passed", undefined, 0],
            ["passed", undefined, 0],
          ]
        : [
            ["unverified", since, 0],
            ["unverified", since, 0],
          ]),
    ]);
  }
});
