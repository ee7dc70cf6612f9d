import { EVENT_TYPES, type EventType } from "../../shared/events.ts";
import { isLoopbackHost } from "../domain/endpoint-url.ts";
import type { Observer } from "../observer/observer.ts";
import type { ReceiverProcess, StartFailure } from "../processes/receiver-process.ts";
import { describeBug } from "../text/errors.ts";
import { createRedactor } from "../text/redact.ts";
import type { Check, HandledCounts, Unverified, Verdict } from "./check.ts";
import { type CheckContext, createContext, type Need, NEEDS } from "./context.ts";
import type { Exchange } from "./delivery.ts";
import { failed, unverified } from "./judgement.ts";
import { createLedger, type LedgerEntry } from "./ledger.ts";
import { createPatience } from "./patience.ts";
import { createPresence } from "./presence.ts";
import { createReceiverClock } from "./receiver-clock.ts";
import { type CheckResult, type Report, resultOf } from "./report.ts";
import { settle } from "./settle.ts";
import { sideBySide } from "./side-by-side.ts";
import { DEFAULT_TIMING, type Timing } from "./timing.ts";

/** Maximum number of exchanges that `onResult` gets for a check that did not fail. */
const EXCHANGES_SHOWN = 3;

export type RunOptions = {
  url: string;
  secret: string;
  seed: string;
  /** How to start this run again, for the report. */
  invocation?: Report["invocation"];
  checks: readonly Check[];
  /** The event types that the endpoint is registered for; all unless given. */
  events?: readonly EventType[] | undefined;
  /** Reads effects back; without it what needs them is unverified. */
  observe?: Observer | undefined;
  /** The receiver's process, in the command form; without it crash checks are unverified. */
  receiver?: ReceiverProcess | undefined;
  /** Why there is no such process, although we should start it. */
  startFailure?: StartFailure | undefined;
  timing?: Partial<Timing>;
  /** Wall time in milliseconds. */
  now: () => number;
  /** Ends the run at once, with its results so far. */
  signal?: AbortSignal | undefined;
  /** Called with what is done, and what is next or awaited. */
  onProgress?: ((progress: { done: number; total: number; title: string }) => void) | undefined;
  /** Called with each result as soon as it is known, with the last exchanges even if the check did not fail. */
  onResult?: ((result: CheckResult) => void) | undefined;
};

type Waiting = { check: Check; judge: (handled: HandledCounts) => Verdict; durationMs: number };

/** Runs one check after the other, or several at once, and keeps their results. */
export function createRunner(options: RunOptions) {
  const { checks, observe, receiver, signal } = options;
  const events = options.events ?? EVENT_TYPES;
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  let isLastTry = false;
  const begunAtMs = performance.now();
  const patience = createPatience({ timing, begunAtMs, isLastTry: () => isLastTry });
  const { answerTimeoutMs, leftMs } = patience;
  const ledger = createLedger();
  const results = new Map<string, CheckResult>();
  const redact = createRedactor([options.secret]);
  const clock = createReceiverClock({ local: isLoopbackHost(options.url), now: options.now });
  const presence = createPresence({ open: () => contextFor("liveness").open(), receiver });
  /** What there was no time to wait for is tried once more. */
  let late: Check[] = [];
  let pending: Waiting[] = [];
  /** Checks that ran side by side when the receiver ended: only alone they show which of them did it. */
  let suspects: Check[] = [];
  let effectsUnreadable: string | undefined;
  let bug: string | undefined;

  function contextFor(checkId: string): CheckContext {
    return createContext({ ...options, events, timing, answerTimeoutMs, leftMs, ledger, checkId, clock });
  }

  function progress(title: string): void {
    const done = checks.filter(({ id }) => results.has(id)).length;
    options.onProgress?.({ done, total: checks.length, title });
  }

  function finish(check: Omit<Check, "run">, verdict: Verdict, durationMs = 0): void {
    const result = resultOf(check, verdict, { durationMs, redact });
    results.set(check.id, result);
    const isShown = verdict.outcome === "failed";
    options.onResult?.(isShown ? result : { ...result, exchanges: lastExchangesOf(check, EXCHANGES_SHOWN) });
    progress(check.title);
  }

  function missingNeed(check: Check): string | undefined {
    const given: Record<Need, boolean> = { observe: observe !== undefined, command: receiver !== undefined };
    const missing = check.needs?.find((need) => !given[need]);
    if (missing !== undefined) return NEEDS[missing];
    return check.needs?.includes("observe") === true ? effectsUnreadable : undefined;
  }

  async function runOne(check: Check): Promise<void> {
    const reason = missingNeed(check) ?? patience.outOfTime() ?? (await presence.missing());
    if (reason !== undefined) return finish(check, unverified(reason));
    const startedAtMs = performance.now();
    const endsBefore = presence.ends();
    const isAlone = ["alone", "odd", "crash"].includes(check.phase ?? "");
    const found = await judged(check, async () => check.run(contextFor(check.id)));
    const first = found.outcome === "pending" ? found : patience.judge(check, found);
    const isGone = (isAlone || first.outcome !== "passed") && (await presence.isGoneAfter(check.id));
    const isSuspect = !isAlone && first.outcome !== "passed" && presence.ends() > endsBefore;
    if (isSuspect && receiver !== undefined) return void suspects.push(check);
    // A receiver that we killed has not ended by itself.
    const isEnded = isGone && check.phase !== "crash";
    const tookMs = performance.now() - startedAtMs;
    const verdict = isEnded ? endedBy(check, first) : await repeated(check, first, tookMs);
    const durationMs = performance.now() - startedAtMs;
    if (verdict.outcome === "pending") pending.push({ check, judge: verdict.judge, durationMs });
    else if (verdict.outcome === "unverified" && verdict.isLate === true && !isLastTry) late.push(check);
    else finish(check, verdict, durationMs);
  }

  function endedBy(check: Check, verdict?: Verdict | { outcome: "pending" }): Verdict {
    const shown = verdict?.outcome === "failed" ? verdict.exchanges : lastExchangesOf(check, 1);
    return failed("ended", "The receiver no longer listens after this: it ended, or closed its port.", shown);
  }

  /** A check that failed is run once more: a failure that does not come again has a cause of its own. */
  async function repeated<Found extends Verdict | { outcome: "pending" }>(
    check: Check,
    verdict: Found,
    tookMs: number,
  ): Promise<Found | Verdict> {
    // The effect of a kill depends on chance, so one failure is enough.
    if (verdict.outcome !== "failed" || ["crash", "production"].includes(check.group)) return verdict;
    // The load of a burst differs each time, so one failure is enough.
    if (check.group === "load" && ["rate_limited", "unavailable"].includes(verdict.cause)) return verdict;
    if (verdict.cause === "timed_out" || !patience.hasTimeToRepeat(tookMs)) return verdict;
    const again = await judged(check, async () => check.run(contextFor(`${check.id} again`)));
    if (again.outcome !== "passed") return verdict;
    return { ...verdict, cause: "sometimes", problem: `${verdict.problem} Sent once more, it passed.` };
  }

  /** What `judge` finds, unless it fails itself: that says nothing about the receiver. */
  async function judged<Found>(check: Check, judge: () => Promise<Found>): Promise<Found | Unverified> {
    try {
      return await judge();
    } catch (error) {
      bug ??= `verify itself failed in the check ${check.id}, please report it: ${describeBug(error)}`;
      return unverified("verify itself failed here.");
    }
  }

  function lastExchangesOf(check: Pick<Check, "id">, most: number): Exchange[] {
    const entries = ledger.all().filter(({ checkIds }) => checkIds.has(check.id));
    return entries.flatMap(({ exchanges }) => exchanges).slice(-most);
  }

  /** Whether a check sends events around kills and restarts; only those events are judged after them. */
  function isAboutKills(checkId: string): boolean {
    return checks.some(({ id, phase }) => id === checkId && phase === "crash");
  }

  async function runAll(chosen: readonly Check[], atOnce: number): Promise<void> {
    await sideBySide(atOnce, chosen, async (check) => {
      if (signal?.aborted !== true) await runOne(check);
    });
  }

  return {
    results,
    timing,
    contextFor,
    progress,
    finish,
    runAll,
    isAboutKills,
    /** Why effects cannot be judged, although they can be observed. */
    giveUpEffects: (reason: string): void => void (effectsUnreadable = reason),
    /** Marks all checks without a result as out of time. */
    leaveOpen(): void {
      const verdict = unverified(
        "The time of the run was over before this ended: run it with --only, or all with --thorough.",
      );
      for (const check of checks) if (!results.has(check.id)) finish(check, verdict);
    },
    isOutOfTime: (): boolean => patience.outOfTime() !== undefined,
    bug: (): string | undefined => bug,
    durationMs: (): number => performance.now() - begunAtMs,
    receiverOutput: (): string[] =>
      (receiver?.output() ?? options.startFailure?.output ?? []).map(redact.text),
    /** Runs once more, side by side, what there was no time to wait for. */
    async runLate(): Promise<void> {
      const [first, ...others] = suspects;
      suspects = [];
      for (const check of [...others, ...(first === undefined ? [] : [first])])
        await runOne({ ...check, phase: "alone" });
      if (first !== undefined && ![...results.values()].some(({ cause }) => cause === "ended")) {
        pending = pending.filter(({ check }) => check.id !== first.id);
        finish(first, endedBy(first));
      }
      isLastTry = true;
      await runAll(late, late.length);
      [late, isLastTry] = [[], false];
    },
    /** Judges the checks that wait for effects, once their events have settled. */
    async judgePending(withinMs: number, isMeant: (entry: LedgerEntry) => boolean): Promise<void> {
      if (pending.length === 0 || signal?.aborted === true) return;
      const handled: HandledCounts =
        observe === undefined
          ? { of: () => ({ known: false, reason: NEEDS.observe }) }
          : await settle({
              entries: ledger.all().filter(isMeant),
              observe,
              withinMs,
              quietMs: timing.quietMs,
              leftMs,
              onWait: (count) =>
                progress(`waiting for ${count} ${count === 1 ? "event" : "events"} to be handled`),
            });
      const waited = pending;
      pending = [];
      for (const { check, judge, durationMs } of waited)
        finish(check, await judged(check, async () => judge(handled)), durationMs);
    },
  };
}
