import { forgeryAnswer } from "../domain/judgement.ts";
import type { Check, CheckContext, HandledCounts, Pending, Verdict } from "./check.ts";
import { type Exchange, isAcknowledged } from "./delivery.ts";

type Definition = Omit<Check, "run" | "group">;

/** A check that passes when every delivery that `send` makes is acknowledged. */
export function accepts(
  group: Check["group"],
  definition: Definition,
  send: (context: CheckContext) => Promise<Exchange | Exchange[]>,
): Check {
  return { ...definition, group, run: async (context) => allAcknowledged([await send(context)].flat()) };
}

/** A check that passes when every delivery that `send` makes is turned away. */
export function refuses(
  group: Check["group"],
  definition: Definition,
  send: (context: CheckContext) => Promise<Exchange | Exchange[]>,
): Check {
  return { ...definition, group, run: async (context) => allRefused([await send(context)].flat()) };
}

/** Passed when each exchange ended with a 2xx in time. */
export function allAcknowledged(exchanges: Exchange[]): Verdict {
  const wrong = exchanges.find((exchange) => !isAcknowledged(exchange));
  if (wrong === undefined) return { outcome: "passed" };
  return {
    outcome: "failed",
    problem: `It should be acknowledged, but ${ending(wrong)}.`,
    exchanges: [wrong],
  };
}

/** Passed when each exchange ended otherwise than with a 2xx; unverified when nobody was there to refuse it. */
export function allRefused(exchanges: Exchange[]): Verdict {
  for (const exchange of exchanges) {
    const { outcome } = exchange;
    if (isAcknowledged(exchange)) {
      return {
        outcome: "failed",
        problem: `It should be refused, but ${ending(exchange)}.`,
        exchanges: [exchange],
      };
    }
    if (outcome.kind === "answered" || outcome.error === "reset" || outcome.error === "closed") continue;
    if (outcome.error === "timeout") {
      return {
        outcome: "failed",
        problem: `It should be refused, but ${ending(exchange)}.`,
        exchanges: [exchange],
      };
    }
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

/** Passed when no exchange ended with a 2xx; for more than a receiver may find the time to refuse. */
export function noneAcknowledged(exchanges: Exchange[]): Verdict {
  const wrong = exchanges.find(isAcknowledged);
  if (wrong === undefined) return { outcome: "passed" };
  return { outcome: "failed", problem: `It should be refused, but ${ending(wrong)}.`, exchanges: [wrong] };
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

/** Passed when the event of `exchanges` was handled exactly `expected` times, or within that range. */
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
