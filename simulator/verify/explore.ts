import { hash } from "node:crypto";
import { EVENT_TYPES } from "../../shared/events.ts";
import { createRandom, type Random } from "../domain/random.ts";
import { MAXIMUM_ATTEMPTS } from "../domain/retry-policy.ts";
import { attempts, CUT_SHORT } from "./attempts.ts";
import type { Check, HandledCounts, Verdict } from "./check.ts";
import type { CheckContext } from "./context.ts";
import { type DeliverOptions, type Exchange, isAcknowledged } from "./delivery.ts";
import {
  allAcknowledged,
  AT_MOST_ONCE,
  every,
  failed,
  handledTimes,
  NEVER,
  ONCE,
  unverified,
} from "./judgement.ts";
import { ruleOf } from "./rules.ts";
import { settle } from "./settle.ts";
import { sideBySide } from "./side-by-side.ts";

/** What happens to one attempt on its way, the simplest first. */
const FATES = ["2xx", "not sent", "answer lost", "cut off", "slow body"] as const;

type Fate = (typeof FATES)[number];

/** How an attempt is sent that meets this fate; one without an entry goes out as it is. */
const SENT: Partial<Record<Fate, DeliverOptions>> = {
  "cut off": CUT_SHORT,
  "slow body": { pieces: { cutAt: [200, 400], pauseMs: 15 } },
};

/** One attempt, and whether another copy of the event reaches the receiver meanwhile or right behind it. */
type Step = { fate: Fate; copy?: "during" | "after" | undefined };

/** The fates of a delivery's attempts; attempts beyond it go through. */
export type Schedule = readonly Step[];

const COPY_PROBABILITY = 0.25;
/** Schedules that are played side by side. */
const AT_ONCE = 6;
/** A failure has to show in one of this many tries, since races do not come out the same each time. */
const SHRINK_TRIES = 3;

/**
 * A check that plays `count` random schedules of failing attempts and copies, each with an event of its own. A failure is
 * shrunk to the smallest schedule that shows it.
 */
export function exploreCheck(count: number): Check {
  return {
    id: "explore.schedules",
    title: `keeps its promise under ${count} random schedules of failing attempts`,
    level: "must",
    group: "explore",
    spec: ruleOf("retries"),
    phase: "explore",
    needs: ["observe"],
    again: `--explore ${count}`,
    run: (context) => explore(context, count),
  };
}

async function explore(context: CheckContext, count: number): Promise<Verdict> {
  const seed = hash("sha256", context.seed, "buffer").readUInt32BE(0);
  const schedules = Array.from({ length: count }, (_, index) =>
    randomSchedule(createRandom(seed, "schedule", index)),
  );
  const { failures, unsure, arrived } = await findFailures(context, schedules, context.timing.settleMs);
  const [first] = failures;
  if (first !== undefined) {
    const { schedule, verdict } = await shrink(context, first);
    const also = failures.length > 1 ? ` ${failures.length} of ${count} schedules failed.` : "";
    const told =
      `${verdict.problem} Smallest failing schedule: ${describeSchedule(schedule)}.${also} ` +
      `Replay: --explore ${count} --seed ${context.seed}`;
    return failed(verdict.cause, told, verdict.exchanges);
  }
  // Schedules under which nothing got through say nothing about the receiver.
  if (arrived === 0) return unverified(`Under ${count} schedules no delivery arrived.`);
  return unsure ?? { outcome: "passed", note: `${arrived} deliveries arrived under ${count} schedules.` };
}

type Failure = { schedule: Schedule; verdict: Extract<Verdict, { outcome: "failed" }> };

/** Plays schedules, and holds what the receiver handled against what it acknowledged. */
async function findFailures(context: CheckContext, schedules: readonly Schedule[], withinMs: number) {
  const played = await sideBySide(AT_ONCE, schedules, (schedule, index) => play(context, schedule, index));
  const handled = await settle({
    entries: played.map(({ eventId, isTaken }) => ({ eventId, acknowledged: isTaken, documented: true })),
    observe: context.handledNow,
    withinMs,
    quietMs: context.timing.quietMs,
  });
  const verdicts = played.map(({ judge }) => judge(handled));
  return {
    failures: verdicts.flatMap((verdict, at): Failure[] =>
      verdict.outcome === "failed" ? [{ schedule: schedules[at] ?? [], verdict }] : [],
    ),
    unsure: verdicts.find(({ outcome }) => outcome === "unverified"),
    arrived: played.reduce((total, { arrived }) => total + arrived, 0),
  };
}

/** Attempts an event as its schedule says until it is delivered, at most six times. */
async function play(context: CheckContext, schedule: Schedule, index: number) {
  const envelope = context.event(EVENT_TYPES[index % EVENT_TYPES.length]);
  const sent: Exchange[] = [];
  /** Deliveries that have to be acknowledged in the end: the service repeats them. */
  const due: Exchange[] = [];
  /** An attempt of the service got its 2xx; or one of the copies did, too. */
  let isDelivered = false;
  let isTaken = false;
  let arrived = 0;

  async function repeat(note: string): Promise<void> {
    const exchanges = await attempts(context, envelope, { note });
    sent.unshift(...exchanges.toReversed());
    due.push(...exchanges.slice(-1));
    arrived += exchanges.length;
    isTaken ||= exchanges.some(isAcknowledged);
  }

  async function attempt({ fate, copy }: Step, number: number): Promise<void> {
    if (fate === "not sent") return;
    const note = `Attempt ${number} of its schedule: ${fate}${copy === undefined ? "" : `, with a copy ${copy} it`}.`;
    const exchange = await context.deliver(envelope, { ...SENT[fate], note });
    sent.unshift(exchange);
    if (fate === "cut off") return;
    arrived += 1;
    isDelivered = fate !== "answer lost" && isAcknowledged(exchange);
    isTaken ||= isDelivered;
  }

  for (let number = 1; number <= MAXIMUM_ATTEMPTS && !isDelivered; number += 1) {
    const step = schedule[number - 1] ?? { fate: "2xx" };
    const copy = (): Promise<void> => repeat("A copy that slipped in.");
    await Promise.all([attempt(step, number), ...(step.copy === "during" ? [copy()] : [])]);
    if (step.copy === "after") await copy();
  }
  // Its attempts meet copies that minutes would have kept apart: one more, later, decides.
  if (arrived > 0 && !isTaken) await repeat("Once more, after all attempts.");

  return {
    eventId: envelope.id,
    isTaken,
    arrived,
    judge: (handled: HandledCounts): Verdict => {
      const refused = due.filter((exchange) => !isAcknowledged(exchange));
      const answers = refused.length === 0 ? [] : [...refused, ...sent.filter(isAcknowledged)];
      const expected = isTaken ? ONCE : arrived > 0 ? AT_MOST_ONCE : NEVER;
      return every(allAcknowledged(answers), handledTimes(handled, sent, expected));
    },
  };
}

/** Tries simpler schedules as long as one of them fails too. */
async function shrink(context: CheckContext, failure: Failure): Promise<Failure> {
  for (const schedule of simplerSchedules(failure.schedule)) {
    const tries = Array.from({ length: SHRINK_TRIES }, () => schedule);
    const { failures } = await findFailures(context, tries, context.timing.settleShrinkingMs);
    if (failures[0] !== undefined) return shrink(context, failures[0]);
  }
  return failure;
}

/** A schedule of one to six attempts; all but the last fail, since a success ends a delivery. */
function randomSchedule(random: Random): Schedule {
  const length = random.int(1, MAXIMUM_ATTEMPTS);
  return Array.from({ length }, (_, index): Step => {
    const failing = ["not sent", "answer lost", "cut off"] as const;
    const fate = index < length - 1 ? random.pick(failing) : random.chance(0.7) ? "2xx" : "slow body";
    if (!random.chance(COPY_PROBABILITY)) return { fate };
    return { fate, copy: random.chance(0.5) ? "during" : "after" };
  });
}

/** Every schedule that is one step simpler: an attempt less, a copy less, or a simpler fate. The shortest first. */
export function simplerSchedules(schedule: Schedule): Schedule[] {
  const without = schedule.map((_, index) => schedule.toSpliced(index, 1)).filter(({ length }) => length > 0);
  const changed = schedule.flatMap(({ fate, copy }, index) => {
    const simpler = FATES.slice(0, FATES.indexOf(fate)).map((name) => ({ fate: name, copy }));
    return [...(copy === undefined ? [] : [{ fate }]), ...simpler].map((step) => schedule.with(index, step));
  });
  return [...without, ...changed];
}

/** `cut off → answer lost with a copy after it → 2xx`; what stands behind the schedule's end goes through. */
export function describeSchedule(schedule: Schedule): string {
  const succeeds = schedule.some(({ fate }) => fate === "2xx" || fate === "slow body");
  const rest: Step[] = succeeds || schedule.length === MAXIMUM_ATTEMPTS ? [] : [{ fate: "2xx" }];
  return [...schedule, ...rest]
    .map(({ fate, copy }) => (copy === undefined ? fate : `${fate} with a copy ${copy} it`))
    .join(" → ");
}
