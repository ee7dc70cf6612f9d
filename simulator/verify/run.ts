import { untilAborted } from "../processes/until-aborted.ts";
import { describeBug } from "../text/errors.ts";
import type { Check, Phase } from "./check.ts";
import { unverified } from "./judgement.ts";
import { acceptsCheck, observable, observableCheck, preflight, reachableCheck } from "./preflight.ts";
import { type Report, verdictOf } from "./report.ts";
import { createRunner, type RunOptions } from "./runner.ts";

export type { RunOptions };

const MOST_CHECKS_AT_ONCE = 8;
/** A run whose time is over gets this much to read effects back. */
const LAST_WORDS_MS = 3_000;

/**
 * Runs `checks` against the receiver at `url` and reports in the order in which they were given. A bug of ours, or an
 * interruption, makes the report incomplete; it never throws.
 */
export async function runChecks(options: RunOptions): Promise<Report> {
  const { checks, observe, receiver, startFailure } = options;
  const startedAt = new Date(options.now());
  // The run ends here, even with checks in progress.
  const timeUp = new AbortController();
  const signal = AbortSignal.any([timeUp.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  const runner = createRunner({ ...options, signal });
  const { results, timing, finish, progress, runAll } = runner;
  let incomplete: string | undefined;

  async function begin(): Promise<boolean> {
    if (startFailure !== undefined) {
      finish(reachableCheck, unverified(startFailure.message));
      return false;
    }
    const context = runner.contextFor("preflight");
    progress("waiting for the receiver to accept a delivery");
    const flight = await preflight(context);
    finish(reachableCheck, flight.unreachable ? flight.accepts : { outcome: "passed" });
    if (!flight.unreachable) finish(acceptsCheck, flight.accepts);
    if (flight.accepts.outcome !== "passed") return false;
    if (observe === undefined) return true;
    progress("waiting for the first event to be handled");
    const seen = await observable(context, timing.settleMs, flight);
    finish(observableCheck, seen);
    if (seen.outcome === "failed") runner.giveUpEffects(`Effects could not be read back: ${seen.problem}`);
    return true;
  }

  /** Runs the checks of a level, in phases; then those that there was no time to wait for. */
  async function runLevel(level: Check["level"]): Promise<void> {
    const inPhase = (phase: Phase) =>
      checks.filter((check) => check.level === level && (check.phase ?? "together") === phase);
    const stalled = inPhase("stalled");
    await Promise.all([runAll(inPhase("together"), MOST_CHECKS_AT_ONCE), runAll(stalled, stalled.length)]);
    await runAll(inPhase("alone"), 1);
    await runner.runLate();
    await runAll(inPhase("last"), 1);
  }

  async function play(): Promise<void> {
    if (!(await begin())) return;
    await runLevel("must");
    await runner.judgePending(timing.settleMs, () => true);
    await runAll(ofPhase("crash"), 1);
    await runner.judgePending(timing.settleMs, ({ checkIds }) => [...checkIds].some(runner.isAboutKills));
    // From here on, no must depends on the results.
    await runLevel("advice");
    const advice = new Set(checks.filter(({ level }) => level === "advice").map(({ id }) => id));
    await runner.judgePending(timing.settleMs, ({ checkIds }) => [...checkIds].some((id) => advice.has(id)));
    const odd = ofPhase("odd");
    if (odd.length > 0 && !runner.isOutOfTime()) await receiver?.restart();
    await runAll(odd, 1);
    await runner.judgePending(timing.settleMs, ({ checkIds }) => odd.some(({ id }) => checkIds.has(id)));
  }

  function ofPhase(phase: Phase): Check[] {
    return checks.filter((check) => check.phase === phase);
  }

  const played = play().catch((error: unknown) => {
    incomplete = `verify itself failed, please report it: ${describeBug(error)}`;
  });
  const { runMs } = timing;
  const timer =
    runMs < Number.POSITIVE_INFINITY ? setTimeout(() => timeUp.abort(), runMs + LAST_WORDS_MS) : undefined;
  await Promise.race([played, untilAborted(signal)]);
  clearTimeout(timer);
  if (timeUp.signal.aborted) runner.leaveOpen();
  const isInterrupted = options.signal?.aborted === true;
  incomplete = runner.bug() ?? incomplete ?? (isInterrupted ? "It was interrupted." : undefined);

  const order = [reachableCheck, acceptsCheck, observableCheck, ...checks];
  const ordered = order.flatMap(({ id }) => results.get(id) ?? []);
  return {
    url: options.url,
    seed: options.seed,
    invocation: options.invocation ?? { start: `voice-agent-simulator verify ${options.url}`, end: "" },
    startedAt,
    durationMs: runner.durationMs(),
    verdict: incomplete === undefined ? verdictOf(ordered) : "incomplete",
    incomplete,
    results: ordered,
    notRun: checks.filter(({ id }) => !results.has(id)).length,
    receiverOutput: runner.receiverOutput(),
  };
}
