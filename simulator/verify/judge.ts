import { forgeryAnswer } from "../domain/judgement.ts";
import type { Check, HandledCounts, Pending, Verdict } from "./check.ts";
import type { CheckContext } from "./context.ts";
import type { Reading } from "../observer/observer.ts";
import { type Exchange, hasTimedOut, isAcknowledged } from "./delivery.ts";

/** One check in a table; what it leaves out comes from the `usual` of the table, and its level is `must`. */
export type Row = Pick<Check, "title" | "run"> & Partial<Omit<Check, "id" | "group">>;

type Usual = Pick<Check, "spec" | "hint"> & Partial<Pick<Check, "phase" | "needs">>;

type Send = (context: CheckContext) => Promise<Exchange | Exchange[]>;

/** The checks of a group, by their names in it. */
export function checksOf(group: Check["group"], usual: Usual, rows: Record<string, Row>): Check[] {
  return Object.entries(rows).map(([name, row]) => ({
    level: "must",
    ...usual,
    ...row,
    id: `${group}.${name}`,
    group,
  }));
}

/** Every delivery that `send` makes has to be acknowledged. */
export function accepted(send: Send): Check["run"] {
  return async (context) => allAcknowledged([await send(context)].flat());
}

/** Every delivery that `send` makes has to be turned away. */
export function refused(send: Send): Check["run"] {
  return async (context) => allRefused([await send(context)].flat());
}

/** How often an event may be handled. */
export const ONCE = { least: 1, most: 1 };
export const NEVER = { least: 0, most: 0 };
export const AT_MOST_ONCE = { least: 0, most: 1 };

/** Every event that `send` delivers has to be handled as often as `expected` says, once all has come to rest. */
export function handledSo(expected: typeof ONCE, send: Send): Check["run"] {
  return async (context) => {
    const exchanges = [await send(context)].flat();
    return whenSettled((handled) => handledTimes(handled, exchanges, expected));
  };
}

/** Whether the receiver says that it handled an event. */
export function isHandled(reading: Reading): boolean {
  return reading.known && reading.count > 0;
}

/** Passed when each exchange ended with a 2xx in time. */
export function allAcknowledged(exchanges: Exchange[]): Verdict {
  const wrong = exchanges.find((exchange) => !isAcknowledged(exchange));
  return wrong === undefined ? { outcome: "passed" } : failedBy("be acknowledged", wrong);
}

/** Passed when each was refused, also by a closed connection; a time-out fails; unverified when no server was there. */
export function allRefused(exchanges: Exchange[]): Verdict {
  for (const exchange of exchanges) {
    const { outcome } = exchange;
    if (isAcknowledged(exchange) || hasTimedOut(exchange)) return failedBy("be refused", exchange);
    if (outcome.kind === "answered" || outcome.error === "reset" || outcome.error === "closed") continue;
    return { outcome: "unverified", reason: `The receiver was not there to refuse it: ${outcome.message}` };
  }
  return { outcome: "passed" };
}

/** Passed when no forgery was answered by a redirect or a 5xx; whether all were refused is for other checks. */
export function refusedCleanly(exchanges: Exchange[]): Verdict {
  const failed = exchanges.find(
    ({ outcome }) => outcome.kind === "answered" && forgeryAnswer(outcome.status) === "failed",
  );
  if (failed === undefined) return { outcome: "passed" };
  const problem = `It was kept out, but ${ending(failed)}, where a 401 says why.`;
  return { outcome: "failed", problem, exchanges: [failed] };
}

/** Passed when no exchange ended with a 2xx; for floods, in which a receiver may leave some unanswered. */
export function noneAcknowledged(exchanges: Exchange[]): Verdict {
  const wrong = exchanges.find(isAcknowledged);
  return wrong === undefined ? { outcome: "passed" } : failedBy("be refused", wrong);
}

function failedBy(should: string, exchange: Exchange): Verdict {
  const problem = `It should ${should}, but ${ending(exchange)}.`;
  return { outcome: "failed", problem, exchanges: [exchange] };
}

/** The first verdict that is not `passed`. */
export function every(...verdicts: Verdict[]): Verdict {
  return verdicts.find((verdict) => verdict.outcome !== "passed") ?? { outcome: "passed" };
}

/** How an exchange ended, as the end of a sentence. */
export function ending({ outcome, durationMs }: Exchange): string {
  if (outcome.kind === "no_answer") {
    return `it got no answer: ${outcome.message.replace(/\.$/, "").replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase())}`;
  }
  const text = outcome.body.toString("utf8").trim();
  const shown = text.length > 160 ? `${text.slice(0, 160)}…` : text;
  return `the receiver answered ${outcome.status} after ${Math.round(durationMs)} ms${shown === "" ? "" : ` (${shown})`}`;
}

/** A verdict that waits until effects have come to rest. */
export function whenSettled(judge: (handled: HandledCounts) => Verdict): Pending {
  return { outcome: "pending", judge };
}

/** Passed when each event of `exchanges` was handled as often as `expected` says. */
export function handledTimes(
  handled: HandledCounts,
  exchanges: Exchange[],
  expected: { least: number; most: number },
): Verdict {
  for (const eventId of new Set(exchanges.map((exchange) => exchange.eventId))) {
    const reading = handled.of(eventId);
    if (!reading.known) return { outcome: "unverified", reason: reading.reason };
    if (reading.count >= expected.least && reading.count <= expected.most) continue;
    const range =
      expected.least === expected.most ? times(expected.least) : `at most ${times(expected.most)}`;
    return {
      outcome: "failed",
      problem: `Event ${eventId} should be handled ${range}, but the receiver says ${times(reading.count)}.`,
      exchanges: exchanges.filter((exchange) => exchange.eventId === eventId).slice(0, 3),
    };
  }
  return { outcome: "passed" };
}

function times(count: number): string {
  if (count === 0) return "never";
  if (count === 1) return "once";
  return `${count} times`;
}
