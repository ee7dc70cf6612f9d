import { isSuccess } from "../domain/judgement.ts";
import type { ReplayProgress } from "../replay/state-file.ts";
import { countsInWords } from "./first-attempts.ts";
import type { Output } from "./output.ts";

/** The result for one envelope: a status, an error, or `accepted` by the simulator. */
export type ReplayResult = { eventId: string; outcome: number | string };

export type ReplayReport = ReturnType<typeof createReplayReport>;

const SHOWN_FAILURES = 10;
/** Nothing listens, or the host does not exist: the next requests would fail too. */
const HOPELESS = new Set(["refused", "dns"]);

export function createReplayReport(options: { total: number; before: ReplayProgress; output: Output }) {
  const { total, before, output } = options;
  const progress: ReplayProgress = structuredClone(before);
  const { outcomes, failures } = progress;
  const failed = () => progress.sent - progress.acknowledged;
  let hopeless: ReplayResult | undefined;

  return {
    add(results: readonly ReplayResult[]): void {
      for (const result of results) {
        if (HOPELESS.has(String(result.outcome))) {
          hopeless = result;
          return;
        }
        if (result.outcome === "interrupted") return;
        progress.done += 1;
        progress.sent += 1;
        outcomes[result.outcome] = (outcomes[result.outcome] ?? 0) + 1;
        if (isFine(result)) progress.acknowledged += 1;
        else if (failures.length < SHOWN_FAILURES) failures.push(result);
      }
      output.progress(`${progress.done} of ${total} sent${failed() === 0 ? "" : `, ${failed()} failed`}`);
    },
    done: () => progress.done,
    progress: (): ReplayProgress => progress,
    failed,
    isComplete: () => progress.done === total,
    isHopeless: () => hopeless !== undefined,
    finish(target: string, firstAttempts?: Record<string, number>): void {
      output.clearProgress();
      output.value({
        object: "replay",
        target,
        total,
        done: progress.done,
        sent: progress.sent,
        acknowledged: progress.acknowledged,
        failed: failed(),
        outcomes,
        failures: failures.map(({ eventId, outcome }) => ({ event_id: eventId, outcome })),
        first_attempts: firstAttempts,
      });
      for (const { eventId, outcome } of failures)
        output.line(`${output.style("red", `[${outcome}]`)} ${eventId}`);
      if (failed() > failures.length) output.line(`… and ${failed() - failures.length} more`);
      const notTaken = failed() === 0 ? "" : `, ${failed()} not acknowledged`;
      // A simulator accepts all of them; the next line says what its endpoints answered.
      const { accepted, ...answers } = outcomes;
      const answered = accepted === undefined && progress.sent > 0 ? `: ${countsInWords(answers)}` : "";
      output.line(`${progress.sent} sent to ${target}${notTaken}${answered}.`);
      if (firstAttempts !== undefined && Object.keys(firstAttempts).length > 0)
        output.line(`First attempts: ${countsInWords(firstAttempts)}`);
      if (hopeless !== undefined) output.note(`Nothing answers at ${target} (${hopeless.outcome}).`);
    },
  };
}

function isFine({ outcome }: ReplayResult): boolean {
  return outcome === "accepted" || (typeof outcome === "number" && isSuccess(outcome));
}
