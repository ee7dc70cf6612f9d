import { expect, onTestFinished, test } from "vitest";
import type { StartFailure } from "../../simulator/processes/receiver-process.ts";
import type { CauseName } from "../../simulator/verify/causes.ts";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { QUICK, QUICK_RUN } from "../mutants/judge.ts";
import { type RunningReceiver, startMutant } from "../mutants/receiver.ts";
import { fakeProcess } from "./fake-process.ts";

const CRASH = CATALOGUE.filter(({ group }) => group === "crash");
/** Of events with such ids both copies are refused at first, or the first one. */
const [BOTH_COPIES, FIRST_COPY] = [/[0-3]$/, /[4-7]$/];
const STREAMS = 3;

/** What the checks say of a receiver that ends and starts again in this process, by the id of the check. */
async function judged({ bug, again }: { bug?: string; again?: StartFailure["reason"] }) {
  const [accepted, seen] = [new Set<string>(), new Set<string>()];
  const [counts, refusals] = [new Map<string, number>(), new Map<string, number>()];
  let running: RunningReceiver;
  let [kills, order] = [0, ""];
  const start = async (port?: number): Promise<RunningReceiver> =>
    startMutant(
      {
        acceptable({ id }) {
          const refused = refusals.get(id) ?? 0;
          const isStream = kills > 0 && kills <= STREAMS && !accepted.has(id);
          if (isStream && refused < (BOTH_COPIES.test(id) ? 2 : FIRST_COPY.test(id) ? 1 : 0)) {
            refusals.set(id, refused + 1);
            if (bug === "keeps ids first" && BOTH_COPIES.test(id)) seen.add(id);
            return 503;
          }
          accepted.add(id);
          return true;
        },
        remember: (id) => !seen.has(id) && seen.add(id) === seen,
        afterHandled({ id, type }) {
          counts.set(id, (counts.get(id) ?? 0) + 1);
          if (type === "order.created") order = id;
        },
      },
      Date.now,
      port,
    );
  running = await start();
  const { url } = running;
  onTestFinished(() => running.close());
  const end = async (isKilled: boolean): Promise<void> => {
    if (isKilled) kills += 1;
    if (again !== "port_taken") await running.close();
    if (bug === "forgets ids") seen.clear();
    if (bug === "forgets an order") seen.delete(order);
    if (bug === "loses counts" && isKilled) counts.clear();
    if (bug === "drops at sigterm" && !isKilled) counts.delete([...counts.keys()].at(-1) ?? "");
    for (const [id, count] of counts) {
      if (bug === "loses some" && FIRST_COPY.test(id) && refusals.has(id)) counts.delete(id);
      if (bug === "starts over" && isKilled) counts.set(id, count + 1);
    }
  };
  const receiver = fakeProcess({
    kill: () => end(true),
    stop: () => end(false),
    async restart() {
      if (again !== undefined) return { ok: false, reason: again, message: "It ended.", output: [] };
      running = await start(Number(new URL(url).port));
      return { ok: true, receiver };
    },
  });
  const { results } = await runChecks({
    ...QUICK_RUN,
    url,
    checks: CRASH,
    receiver,
    observe: async (id) => ({ known: true, count: counts.get(id) ?? 0 }),
    timing: { ...QUICK, settleMs: 300, kills: STREAMS },
  });
  const open = results.filter(({ outcome }) => outcome !== "passed");
  return Object.fromEntries(open.map(({ check, cause, explanation }) => [check.id, cause ?? explanation]));
}

/** What the kill after an answer shows, and the kills while events stream in. */
const [LAST, BEFORE, RETRIED] = [
  "acknowledged-survives",
  "duplicate-after-restart handled-before",
  "retried-after-kill",
];

test.each<[bug: string, CauseName, failing: string]>([
  ["has none", "lost_in_crash", ""],
  ["forgets ids", "repeated_after_crash", BEFORE],
  ["forgets an order", "repeated_after_crash", "handled-before"],
  ["loses counts", "lost_in_crash", `${LAST} ${BEFORE} ${RETRIED} stored-before-answer`],
  ["loses some", "lost_in_crash", "stored-before-answer"],
  ["starts over", "repeated_after_crash", `${LAST} ${BEFORE} ${RETRIED} while-handling`],
  ["drops at sigterm", "lost_in_crash", "terminated"],
  ["keeps ids first", "lost_in_crash", RETRIED],
])("a receiver with the bug that it %s fails what it breaks, as %s: %s", async (bug, cause, failing) => {
  const ids = failing === "" ? [] : failing.split(" ").map((name) => `crash.${name}`);
  expect(await judged({ bug })).toEqual(Object.fromEntries(ids.map((id) => [id, cause])));
});

test.each([
  ["died", "not_restarted", /since the check crash\.restarts/],
  ["port_taken", undefined, /^kill -9 of the command did not end the receiver/],
] as const)("a kill after which the receiver %s proves nothing more", async (again, cause, reason) => {
  const { "crash.restarts": first, ...others } = await judged({ again });
  expect(first).toMatch(cause ?? reason);
  expect(Object.values(others).filter((text = "") => reason.test(text))).toHaveLength(CRASH.length - 1);
});
