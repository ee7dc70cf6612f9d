import { causeOf as causeOfEnding } from "../domain/causes.ts";
import { type CauseName, causeOf, VERIFY_CAUSES } from "./causes.ts";
import type { Check, HandledCounts, Pending, Unverified, Verdict } from "./check.ts";
import type { CheckContext } from "./context.ts";
import type { Reading } from "../observer/observer.ts";
import { type Exchange, hasTimedOut, isAcknowledged } from "./delivery.ts";

type Send = (context: CheckContext) => Promise<Exchange | Exchange[]>;

const PASSED: Verdict = { outcome: "passed" };

/** A check that every delivery `send` makes is acknowledged. */
export function accepted(send: Send): Check["run"] {
  return async (context) => allAcknowledged([await send(context)].flat());
}

/** A check that every delivery `send` makes is refused. */
export function refused(send: Send): Check["run"] {
  return async (context) => allRefused([await send(context)].flat());
}

export const ONCE = { least: 1, most: 1 };
export const AT_LEAST_ONCE = { least: 1, most: Number.POSITIVE_INFINITY };
export const NEVER = { least: 0, most: 0 };
export const AT_MOST_ONCE = { least: 0, most: 1 };

/** A check that every event `send` delivers is handled `expected` times in the end. */
export function handledSo(expected: typeof ONCE, send: Send): Check["run"] {
  return async (context) => {
    const exchanges = [await send(context)].flat();
    return whenSettled((handled) => handledTimes(handled, exchanges, expected));
  };
}

/** A verdict that waits until effects are settled. */
export function whenSettled(judge: (handled: HandledCounts) => Verdict): Pending {
  return { outcome: "pending", judge };
}

export function isHandled(reading: Reading): boolean {
  return reading.known && reading.count > 0;
}

/** Whether an event is settled: the receiver handled it, deferred it, or ignores it. */
export function isAtRest(reading: Reading): boolean {
  return isHandled(reading) || (reading.known && isPutAside(reading));
}

function isPutAside({ deferredUntil, isIgnored }: Extract<Reading, { known: true }>): boolean {
  return deferredUntil !== undefined || isIgnored === true;
}

/** Passed when each exchange ended with a 2xx in time. */
export function allAcknowledged(exchanges: Exchange[]): Verdict {
  const wrong = exchanges.find((exchange) => !isAcknowledged(exchange));
  if (wrong === undefined) return PASSED;
  const { eventId } = wrong;
  const isCopy =
    eventId !== "" && exchanges.some((other) => other.eventId === eventId && isAcknowledged(other));
  return failed(
    causeOf(wrong, isCopy ? "duplicate" : "genuine"),
    `It should be acknowledged, but ${ending(wrong)}.`,
    [wrong],
  );
}

/** Passed when each was refused, also by a closed connection; a time-out fails; unverified when no server was there. */
export function allRefused(exchanges: Exchange[]): Verdict {
  for (const exchange of exchanges) {
    const { outcome } = exchange;
    if (isAcknowledged(exchange) || hasTimedOut(exchange)) return notRefused(exchange);
    if (outcome.kind === "answered" || outcome.error === "reset" || outcome.error === "closed") continue;
    return unverified(`The receiver could not be reached: ${outcome.message}`);
  }
  return PASSED;
}

/** Passed when no exchange ended with a 2xx; for floods, in which a receiver may leave some unanswered. */
export function noneAcknowledged(exchanges: Exchange[]): Verdict {
  const wrong = exchanges.find(isAcknowledged);
  return wrong === undefined ? PASSED : notRefused(wrong);
}

/** Passed when no forgery was answered by a redirect or a 5xx; whether all were refused is for other checks. */
export function refusedCleanly(exchanges: Exchange[]): Verdict {
  const cause = "forgery_not_refused";
  const wrong = exchanges.find(
    ({ outcome }) =>
      outcome.kind === "answered" && causeOfEnding({ status: outcome.status }, "forged") === cause,
  );
  if (wrong === undefined) return PASSED;
  return failed(cause, `It was refused, but ${ending(wrong)}; the answer should be 401.`, [wrong]);
}

function notRefused(exchange: Exchange): Verdict {
  return failed(causeOf(exchange, "forged"), `It should be refused, but ${ending(exchange)}.`, [exchange]);
}

/** A failure by its cause; without a `problem`, the words of the cause are it. */
export function failed(
  cause: CauseName,
  problem = `${VERIFY_CAUSES[cause].words}.`,
  exchanges: Exchange[] = [],
): Verdict {
  return { outcome: "failed", cause, problem, exchanges };
}

export function unverified(reason: string): Unverified {
  return { outcome: "unverified", reason };
}

export function every(...verdicts: Verdict[]): Verdict {
  return (
    verdicts.find(({ outcome }) => outcome === "failed") ??
    verdicts.find(({ outcome }) => outcome !== "passed") ??
    PASSED
  );
}

/** How an exchange ended, as the end of a sentence. */
export function ending({ outcome, durationMs }: Exchange): string {
  if (outcome.kind === "no_answer") {
    return `it got no answer: ${outcome.message.replace(/\.$/, "").replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase())}`;
  }
  const text = outcome.body.toString("utf8").replaceAll(/\s+/g, " ").trim();
  const shown = text.length > 160 ? `${text.slice(0, 160)}…` : text;
  return `the receiver answered ${outcome.status} after ${Math.round(durationMs)} ms${shown === "" ? "" : ` (${shown})`}`;
}

/**
 * Passed when each event of `exchanges` was handled `expected` times. An event that was never acknowledged fails by its
 * answer; one that the receiver deferred or ignores proves nothing.
 */
export function handledTimes(handled: HandledCounts, exchanges: Exchange[], expected: typeof ONCE): Verdict {
  let unsure: Verdict = PASSED;
  for (const [eventId, own] of Map.groupBy(exchanges, (exchange) => exchange.eventId)) {
    const reading = handled.of(eventId);
    if (!reading.known) return unverified(reading.reason);
    const { count } = reading;
    if (count >= expected.least && count <= expected.most) continue;
    if (count < expected.least && !own.some(isAcknowledged)) return allAcknowledged(own.slice(-1));
    const open = count < expected.least ? whyOpen(eventId, reading, handled.isOver) : undefined;
    if (open !== undefined) {
      const isDeferred = reading.deferredUntil !== undefined;
      if (!isDeferred || unsure.outcome === "passed") unsure = { ...unverified(open), isDeferred };
      continue;
    }
    const problem = `Event ${eventId} should be handled ${inWords(expected)}, but the receiver says ${times(count)}.`;
    const cause = expected.most === 0 ? "forgery_handled" : count === 0 ? "never_handled" : "handled_twice";
    return failed(cause, problem, own.slice(0, 3));
  }
  return unsure;
}

/** Why an event that was not handled is not a failure. */
function whyOpen(id: string, reading: Extract<Reading, { known: true }>, isOver = false): string | undefined {
  if (reading.deferredUntil !== undefined)
    return `The receiver deferred event ${id} until ${reading.deferredUntil}.`;
  if (reading.isIgnored === true) return `The receiver ignores event ${id}: it has no handler for the type.`;
  if (!isOver) return undefined;
  return "Events were still being handled at the end of the run: allow more time with --effects-within SECONDS.";
}

function inWords({ least, most }: typeof ONCE): string {
  if (least === most) return times(least);
  return most === Number.POSITIVE_INFINITY ? `at least ${times(least)}` : `at most ${times(most)}`;
}

function times(count: number): string {
  return ["never", "once"][count] ?? `${count} times`;
}
