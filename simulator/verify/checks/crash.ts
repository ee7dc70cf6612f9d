import type { Check, HandledCounts, Verdict } from "../check.ts";
import type { CheckContext } from "../context.ts";
import type { Round } from "../rounds.ts";
import type { Exchange } from "../delivery.ts";
import { allAcknowledged, checksOf, every, handledTimes, ONCE, whenSettled } from "../judge.ts";
import { RULES } from "../rules.ts";

const STORE_HINT =
  "Commit the event to disk, and sync it, before the 2xx goes out; at start-up, take up what was stored but not handled.";
const KEEP_IDS_HINT =
  "Keep ids where a crash cannot reach them, and mark an event as handled in the transaction that holds its effect.";

/** What daemons do, and what containers are: they live outside of the process group that is killed. */
const OUTLIVED =
  "kill -9 of the command did not end the receiver, which still listens. Give a command that is the receiver and stays in the foreground.";

const usual: Pick<Check, "spec" | "hint" | "phase" | "needs"> = {
  spec: RULES.once,
  hint: STORE_HINT,
  phase: "crash",
  needs: ["command", "observe"],
};

/** Whether acknowledged events survive when the process is killed; only for a receiver that verify has started. */
export const crashChecks: Check[] = checksOf("crash", usual, {
  restarts: {
    title: "comes back after kill -9 and acknowledges again",
    needs: ["command"],
    run: killed(
      ({ kills }) => kills.acknowledged(),
      ({ revived }) => allAcknowledged(revived),
    ),
  },
  "acknowledged-survives": {
    title: "handles an event that it acknowledged right before kill -9",
    run: killed(
      ({ kills }) => kills.acknowledged(),
      ({ last }, handled) => once(last, handled),
    ),
  },
  "stored-before-answer": {
    title: "handles every event of a stream of which kill -9 followed an answer within microseconds",
    hint: "Answer when the event is stored, not before and not meanwhile: between the two there is always a moment to be killed in.",
    run: killed(
      ({ kills }) => kills.streamed(),
      ({ exchanges, kills, closestMs }, handled) => {
        const note =
          `${kills} ${kills === 1 ? "kill" : "kills"}, with ${exchanges.length} events acknowledged right before, the closest by ${closestMs.toFixed(2)} ms: ` +
          "an event stored later than that after its answer would have been lost. --thorough kills more often.";
        return withNote(once(exchanges, handled), note);
      },
    ),
  },
  "duplicate-after-restart": {
    title: "handles an event once whose duplicate comes after kill -9 and restart",
    hint: KEEP_IDS_HINT,
    run: killed(
      ({ kills }) => kills.acknowledged(),
      ({ duplicate }, handled) => once(duplicate, handled),
    ),
  },
  "handled-before": {
    title: "does not handle an event again that it had handled before kill -9",
    hint: KEEP_IDS_HINT,
    run: killed(
      ({ kills }) => kills.acknowledged(),
      ({ handled: sent }, handled) => once(sent, handled),
    ),
  },
  burst: {
    title: "handles each event of a burst once that kill -9 interrupted",
    run: killed(
      ({ kills }) => kills.burst(),
      ({ exchanges, answered }, handled) => {
        const note = `${answered.length} of ${exchanges.length} were answered before the kill, the others sent again.`;
        return withNote(once(exchanges, handled), note);
      },
    ),
  },
  terminated: {
    title: "handles an event that it acknowledged right before SIGTERM",
    hint: "On SIGTERM finish what is being answered, and leave the rest stored for the next start.",
    run: killed(
      ({ kills }) => kills.terminated(),
      ({ exchanges }, handled) => once(exchanges, handled),
    ),
  },
});

/** Plays a round of kills, and judges it when all is at rest. */
function killed<Played extends Round>(
  play: (context: CheckContext) => Promise<Played>,
  judge: (round: Played, handled: HandledCounts) => Verdict,
): Check["run"] {
  return async (context) => {
    const round = await play(context);
    if (round.notRestarted === undefined) return whenSettled((handled) => judge(round, handled));
    if (round.notRestarted.reason === "port_taken") return { outcome: "unverified", reason: OUTLIVED };
    const problem = `It did not start again: ${round.notRestarted.message}`;
    return { outcome: "failed", problem, exchanges: round.exchanges.slice(0, 3) };
  };
}

function once(exchanges: Exchange[], handled: HandledCounts): Verdict {
  return every(allAcknowledged(exchanges), handledTimes(handled, exchanges, ONCE));
}

function withNote(verdict: Verdict, note: string): Verdict {
  return verdict.outcome === "passed" ? { ...verdict, note } : verdict;
}
