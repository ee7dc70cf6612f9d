import type { Check, HandledCounts, Runs, Verdict } from "../check.ts";
import type { CheckContext } from "../context.ts";
import type { Exchange } from "../delivery.ts";
import {
  allAcknowledged,
  AT_LEAST_ONCE,
  AT_MOST_ONCE,
  every,
  failed,
  handledTimes,
  ONCE,
  whenSettled,
} from "../judgement.ts";
import { acknowledgedRound, type Round, streamedRound, terminatedRound } from "../kill-rounds.ts";

/** What daemons do, and what containers are: they live outside of the process group that is killed. */
const OUTLIVED =
  "kill -9 of the command did not end the receiver, which still listens. Give a command that is the receiver and stays in the foreground.";

/** Whether acknowledged events survive when the process is killed; only for a receiver that verify has started. */
export const crashRuns: Runs = {
  "crash.restarts": killed(acknowledgedRound, ({ revived }) => allAcknowledged(revived)),
  "crash.acknowledged-survives": killed(acknowledgedRound, ({ last }, handled) => once(last, handled)),
  "crash.stored-before-answer": killed(streamedRound, ({ exchanges, kills, closestMs }, handled) => {
    const note =
      `${kills} ${kills === 1 ? "kill" : "kills"}, with ${exchanges.length} events acknowledged before, the closest by ${closestMs.toFixed(2)} ms. ` +
      "--thorough kills more often.";
    return withNote(afterKill(handledTimes(handled, exchanges, AT_LEAST_ONCE)), note);
  }),
  "crash.while-handling": killed(streamedRound, ({ exchanges }, handled) =>
    afterKill(handledTimes(handled, exchanges, AT_MOST_ONCE)),
  ),
  "crash.retried-after-kill": killed(streamedRound, ({ retried }, handled) => once(retried, handled)),
  "crash.duplicate-after-restart": killed(acknowledgedRound, ({ duplicate }, handled) =>
    once(duplicate, handled),
  ),
  "crash.handled-before": killed(acknowledgedRound, ({ handled: sent }, handled) => once(sent, handled)),
  "crash.terminated": killed(terminatedRound, ({ exchanges }, handled) => once(exchanges, handled)),
};

const NOT_KILLED: Verdict = {
  outcome: "unverified",
  reason: "There was no time left to kill it and to wait for its effects: run it by --only crash.",
};

/** Plays a round of kills, and judges it when all is at rest. */
function killed<Played extends Round>(
  play: (context: CheckContext) => Promise<Played>,
  judge: (round: Played, handled: HandledCounts) => Verdict,
): Check["run"] {
  return async (context) => {
    const round = await play(context);
    if (round.notRestarted === undefined)
      return round.exchanges.length === 0 ? NOT_KILLED : whenSettled((handled) => judge(round, handled));
    if (round.notRestarted.reason === "port_taken") return { outcome: "unverified", reason: OUTLIVED };
    return failed(
      "not_restarted",
      `It did not start again: ${round.notRestarted.message}`,
      round.exchanges.slice(0, 3),
    );
  };
}

function once(exchanges: Exchange[], handled: HandledCounts): Verdict {
  return afterKill(every(allAcknowledged(exchanges), handledTimes(handled, exchanges, ONCE)));
}

/** What is lost or repeated around a kill has a cause of its own. */
function afterKill(verdict: Verdict): Verdict {
  if (verdict.outcome !== "failed") return verdict;
  if (verdict.cause === "never_handled") return { ...verdict, cause: "lost_in_crash" };
  return verdict.cause === "handled_twice" ? { ...verdict, cause: "repeated_after_crash" } : verdict;
}

function withNote(verdict: Verdict, note: string): Verdict {
  return verdict.outcome === "passed" ? { ...verdict, note } : verdict;
}
