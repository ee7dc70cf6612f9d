import type { Check, CheckContext, HandledCounts, Named, Verdict } from "../check.ts";
import { allAcknowledged, every, handledTimes, whenSettled } from "../judge.ts";
import type { Round } from "../check.ts";
import { RULES } from "../rules.ts";
import { ONCE } from "./effect.ts";

const STORE_HINT =
  "Commit the event to disk, and sync it, before the 2xx goes out; at start-up, take up what was stored but not handled.";
const KEEP_IDS_HINT =
  "Keep ids where a crash cannot reach them, and mark an event as handled in the transaction that holds its effect.";

/** What is left of acknowledged events when the process is killed; the command form only. */
export const crashChecks: Check[] = [
  {
    ...crash(
      { name: "restarts", title: "comes back after kill -9 and acknowledges again", hint: STORE_HINT },
      ({ kills }) => kills.acknowledged(),
      ({ revived }) => allAcknowledged(revived),
    ),
    needs: ["command"],
  },
  crash(
    {
      name: "acknowledged-survives",
      title: "handles an event that it acknowledged right before kill -9",
      hint: STORE_HINT,
    },
    ({ kills }) => kills.acknowledged(),
    ({ last }, handled) => once(last, handled),
  ),
  crash(
    {
      name: "stored-before-answer",
      title: "handles every event of a stream of which kill -9 followed an answer within microseconds",
      hint: "Answer when the event is stored, not before and not meanwhile: between the two there is always a moment to be killed in.",
    },
    ({ kills }) => kills.streamed(),
    ({ exchanges, kills, closestMs }, handled) => {
      const verdict = once(exchanges, handled);
      if (verdict.outcome !== "passed") return verdict;
      const times = `${kills} ${kills === 1 ? "kill" : "kills"}`;
      return {
        outcome: "passed",
        note:
          `${times}, with ${exchanges.length} events acknowledged right before, the closest by ${closestMs.toFixed(2)} ms: ` +
          "an event stored later than that after its answer would have been lost. --thorough kills more often.",
      };
    },
  ),
  crash(
    {
      name: "duplicate-after-restart",
      title: "handles an event once whose duplicate comes after kill -9 and restart",
      hint: KEEP_IDS_HINT,
    },
    ({ kills }) => kills.acknowledged(),
    ({ duplicate }, handled) => once(duplicate, handled),
  ),
  crash(
    {
      name: "handled-before",
      title: "does not handle an event again that it had handled before kill -9",
      hint: KEEP_IDS_HINT,
    },
    ({ kills }) => kills.acknowledged(),
    ({ handled: sent }, handled) => once(sent, handled),
  ),
  crash(
    { name: "burst", title: "handles each event of a burst once that kill -9 interrupted", hint: STORE_HINT },
    ({ kills }) => kills.burst(),
    ({ exchanges, answered }, handled) => {
      const verdict = once(exchanges, handled);
      if (verdict.outcome !== "passed") return verdict;
      const note = `${answered.length} of ${exchanges.length} were answered before the kill, the others sent again.`;
      return { outcome: "passed", note };
    },
  ),
  crash(
    {
      name: "terminated",
      title: "handles an event that it acknowledged right before SIGTERM",
      hint: "On SIGTERM finish what is being answered, and leave the rest stored for the next start.",
    },
    ({ kills }) => kills.terminated(),
    ({ exchanges }, handled) => once(exchanges, handled),
  ),
];

/** A check by a round of kills, judged when all is at rest. */
function crash<Played extends Round>(
  { name, ...about }: Named<"title" | "hint">,
  play: (context: CheckContext) => Promise<Played>,
  judge: (round: Played, handled: HandledCounts) => Verdict,
): Check {
  return {
    ...about,
    id: `crash.${name}`,
    level: "must",
    group: "crash",
    spec: RULES.once,
    phase: "crash",
    needs: ["command", "observe"],
    run: async (context) => {
      const round = await play(context);
      if (round.notRestarted === undefined) return whenSettled((handled) => judge(round, handled));
      const problem = `It did not start again: ${round.notRestarted}`;
      return { outcome: "failed", problem, exchanges: round.exchanges.slice(0, 3) };
    },
  };
}

function once(exchanges: Parameters<typeof allAcknowledged>[0], handled: HandledCounts): Verdict {
  return every(allAcknowledged(exchanges), handledTimes(handled, exchanges, ONCE));
}
