import { EVENT_TYPES, type EventType } from "../../shared/events.ts";
import type { ReceiverProcess } from "../processes/receiver-process.ts";
import type { Check, HandledCounts, Verdict } from "./check.ts";
import type { CheckContext, Need } from "./context.ts";
import type { Exchange } from "./delivery.ts";
import { describeBug } from "../text/errors.ts";
import { untilAborted } from "../processes/until-aborted.ts";
import { createRedactor } from "../text/redact.ts";
import { createContext, NEEDS } from "./context.ts";
import { isLoopbackHost } from "../domain/endpoint-url.ts";
import { createReceiverClock } from "./receiver-clock.ts";
import { createKillRounds } from "./kill-rounds.ts";
import { createLedger, type LedgerEntry } from "./ledger.ts";
import type { Observer, Reading } from "../observer/observer.ts";
import { createPatience } from "./patience.ts";
import { acceptsCheck, observable, observableCheck, preflight, reachableCheck } from "./preflight.ts";
import { type CheckResult, type Report, resultOf, verdictOf } from "./report.ts";
import { settle } from "./settle.ts";
import { DEFAULT_TIMING, type Timing } from "./timing.ts";

const MOST_CHECKS_AT_ONCE = 8;
/** Maximum number of exchanges that `onResult` gets for a check that did not fail. */
const EXCHANGES_TOLD = 3;
/** The scope of events that are sent around kills, which serve several checks. */
const KILLS = "crash.kills";

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
  /** The variable through which the receiver's clock can be moved ahead by seconds, at a start. */
  clockVariable?: string | undefined;
  timing?: Partial<Timing>;
  /** Wall time in milliseconds. */
  now: () => number;
  /** Ends the run at once, with what it has found so far. */
  signal?: AbortSignal | undefined;
  /** Told each time a check is done, for progress. */
  onProgress?: ((progress: { done: number; total: number; title: string }) => void) | undefined;
  /** Told each result as soon as it is known, with the last exchanges also where the check did not fail. */
  onResult?: ((result: CheckResult) => void) | undefined;
};

/**
 * Runs `checks` against the receiver at `url` and reports in the order in which they were given. A bug of ours, or an
 * interruption, makes the report incomplete; it never throws.
 */
export async function runChecks(options: RunOptions): Promise<Report> {
  const { checks, observe } = options;
  const startedAt = new Date(options.now());
  const begunAtMs = performance.now();
  const events = options.events ?? EVENT_TYPES;
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const patience = createPatience({ timing, begunAtMs });
  const { answerTimeoutMs, learn } = patience;
  const ledger = createLedger({ nowMs: () => performance.now(), onFirstAnswer: learn });
  const results = new Map<string, CheckResult>();
  const pending: { check: Check; judge: (handled: HandledCounts) => Verdict; durationMs: number }[] = [];
  const redact = createRedactor([options.secret]);
  const clock = createReceiverClock({ local: isLoopbackHost(options.url), now: options.now });
  let effectsUnreadable: string | undefined;
  /** The check after which the receiver no longer listened. */
  let broughtDownBy: string | undefined;
  let incomplete: string | undefined;

  const kills = createKillRounds(() => contextFor(KILLS));
  const contextFor = (checkId: string): CheckContext =>
    createContext({ ...options, events, timing, answerTimeoutMs, ledger, checkId, clock, kills });

  function finish(check: Omit<Check, "run">, verdict: Verdict, durationMs: number): void {
    const result = resultOf(check, verdict, { durationMs, redact });
    results.set(check.id, result);
    const isTold = verdict.outcome === "failed";
    options.onResult?.(isTold ? result : { ...result, exchanges: lastExchangesOf(check, EXCHANGES_TOLD) });
    const done = checks.filter(({ id }) => results.has(id)).length;
    options.onProgress?.({ done, total: checks.length, title: check.title });
  }

  function missingNeed(check: Check): string | undefined {
    const given: Record<Need, boolean> = {
      observe: observe !== undefined,
      command: options.receiver !== undefined,
      clock: options.clockVariable !== undefined,
    };
    const missing = check.needs?.find((need) => !given[need]);
    if (missing !== undefined) return NEEDS[missing];
    return check.needs?.includes("observe") === true ? effectsUnreadable : undefined;
  }

  async function runOne(check: Check): Promise<void> {
    const reason = missingNeed(check) ?? patience.outOfTime() ?? (await missingReceiver());
    if (reason !== undefined) return finish(check, { outcome: "unverified", reason }, 0);
    const checkStartedAtMs = performance.now();
    const found = await judged(check, async () => check.run(contextFor(check.id)));
    const verdict = found.outcome === "pending" ? found : patience.judge(check, found);
    const durationMs = performance.now() - checkStartedAtMs;
    const gone = check.phase === "alone" && !(await listens());
    if (gone) broughtDownBy = check.id;
    if (gone && verdict.outcome !== "failed") {
      const problem = "The receiver no longer listens after this: it ended, or closed its port.";
      return finish(check, { outcome: "failed", problem, exchanges: lastExchangesOf(check, 1) }, durationMs);
    }
    if (verdict.outcome === "pending") pending.push({ check, judge: verdict.judge, durationMs });
    else finish(check, verdict, durationMs);
  }

  /** What `judge` finds, unless it fails itself: that says nothing about the receiver. */
  async function judged<Found>(check: Check, judge: () => Promise<Found>): Promise<Found | Unjudged> {
    try {
      return await judge();
    } catch (error) {
      incomplete ??= `verify itself failed in the check ${check.id}, please report it: ${describeBug(error)}`;
      return { outcome: "unverified", reason: "verify itself failed here." };
    }
  }

  async function listens(): Promise<boolean> {
    const wire = await contextFor("liveness").open();
    wire.close();
    return wire.connected;
  }

  /** Why a check cannot be run any more, since an earlier one brought the receiver down; ours is started again. */
  async function missingReceiver(): Promise<string | undefined> {
    if (broughtDownBy === undefined) return undefined;
    const restarted = await options.receiver?.restart();
    if (restarted?.ok !== true) return `The receiver no longer listens since the check ${broughtDownBy}.`;
    broughtDownBy = undefined;
    return undefined;
  }

  function lastExchangesOf(check: Pick<Check, "id">, most: number): Exchange[] {
    const entries = ledger.all().filter(({ checkIds }) => checkIds.has(check.id));
    return entries.flatMap(({ exchanges }) => exchanges).slice(-most);
  }

  /** Whether a check sends events around kills and restarts; only those events are judged after them. */
  function isAboutKills(checkId: string): boolean {
    return checkId === KILLS || checks.some(({ id, phase }) => id === checkId && phase === "crash");
  }

  async function runPhase(phase: NonNullable<Check["phase"]>, atOnce: number): Promise<void> {
    const queue = checks.filter((check) => (check.phase ?? "together") === phase);
    const next = queue.values();
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (const check of next) {
          if (options.signal?.aborted === true) return;
          await runOne(check);
        }
      }),
    );
  }

  /** Judges what waits for effects, once they have come to rest. */
  async function judgePending(withinMs: number, isMeant: (entry: LedgerEntry) => boolean): Promise<void> {
    if (pending.length === 0 || options.signal?.aborted === true) return;
    const handled =
      observe === undefined
        ? { of: (): Reading => ({ known: false, reason: NEEDS.observe }) }
        : await settle({ entries: ledger.all().filter(isMeant), observe, withinMs, quietMs: timing.quietMs });
    for (const { check, judge, durationMs } of pending.splice(0)) {
      finish(check, await judged(check, async () => judge(handled)), durationMs);
    }
  }

  async function play(): Promise<void> {
    const first = contextFor("preflight");
    const flight = await preflight(first);
    const accepted = flight.accepts.outcome === "passed";
    finish(reachableCheck, flight.unreachable ? flight.accepts : { outcome: "passed" }, 0);
    if (!flight.unreachable) finish(acceptsCheck, flight.accepts, 0);

    if (accepted) {
      const seen = observe === undefined ? undefined : await observable(first, timing.settleMs, flight);
      if (seen !== undefined) finish(observableCheck, seen, 0);
      if (seen?.outcome === "failed") effectsUnreadable = `Effects could not be read back: ${seen.problem}`;

      await runPhase("together", MOST_CHECKS_AT_ONCE);
      await runPhase("stalled", checks.length);
      await runPhase("alone", 1);
      await runPhase("last", 1);
      await judgePending(timing.settleMs, () => true);
      await runPhase("crash", 1);
      // Events that were lost without a kill have been waited for.
      const isLossKnown = [...results.values()].some(
        ({ check, outcome }) => check.group === "effects" && outcome === "failed",
      );
      const crashMs = isLossKnown
        ? Math.min(timing.settleMs, timing.settleAfterCrashMs)
        : timing.settleAfterCrashMs;
      await judgePending(crashMs, ({ checkIds }) => [...checkIds].some(isAboutKills));
      await runPhase("explore", 1);
    }
  }

  const played = play().catch((error: unknown) => {
    incomplete ??= `verify itself failed, please report it: ${describeBug(error)}`;
  });
  await (options.signal === undefined ? played : Promise.race([played, untilAborted(options.signal)]));
  if (options.signal?.aborted === true) incomplete ??= "It was interrupted.";

  const order = [reachableCheck, acceptsCheck, observableCheck, ...checks];
  const ordered = order.flatMap(({ id }) => results.get(id) ?? []);
  return {
    url: options.url,
    seed: options.seed,
    invocation: options.invocation ?? { start: `voice-agent-simulator verify ${options.url}`, end: "" },
    startedAt,
    durationMs: performance.now() - begunAtMs,
    verdict: incomplete === undefined ? verdictOf(ordered) : "incomplete",
    incomplete,
    results: ordered,
    notRun: checks.filter(({ id }) => !results.has(id)).length,
    receiverOutput: options.receiver?.output().map(redact.text) ?? [],
  };
}

type Unjudged = Extract<Verdict, { outcome: "unverified" }>;
