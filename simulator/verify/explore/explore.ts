import { hash } from "node:crypto";
import { createRandom } from "../../domain/random.ts";
import type { Reading } from "../../observer/observer.ts";
import type { CauseName } from "../causes.ts";
import type { Check, Verdict } from "../check.ts";
import type { CheckContext } from "../context.ts";
import { failed } from "../judgement.ts";
import { ruleOf } from "../rules.ts";
import { settle } from "../settle.ts";
import { createPlayer, type Player, type Played } from "./player.ts";
import { describeSchedule, randomSchedule, type Schedule, simplerSchedules } from "./schedule.ts";

/** A failure has to show in one of this many tries, since races do not come out the same each time. */
const SHRINK_TRIES = 3;

/**
 * A check that plays `count` random schedules of failing attempts and copies: the service's own delivery engine sends over
 * a network with faults to the receiver. A failure is shrunk to the smallest schedule that shows it.
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
    run: async (context) => {
      const player = await createPlayer(context);
      try {
        return await explore(context, player, count);
      } finally {
        await player.close();
      }
    },
  };
}

async function explore(context: CheckContext, player: Player, count: number): Promise<Verdict> {
  const seed = hash("sha256", context.seed, "buffer").readUInt32BE(0);
  const schedules = Array.from({ length: count }, (_, index) =>
    randomSchedule(createRandom(seed, "schedule", index)),
  );
  const played = await player.play(schedules);
  const problems = await findProblems(context, played, context.timing.settleMs);
  const [first] = problems;
  if (first === undefined) {
    const arrived = played.reduce((total, { exchanges }) => total + exchanges.length, 0);
    // Schedules under which nothing got through say nothing about the receiver.
    if (arrived === 0)
      return { outcome: "unverified", reason: `Under ${count} schedules no delivery arrived.` };
    return { outcome: "passed", note: `${arrived} deliveries arrived under ${count} schedules.` };
  }

  const smallest = await shrink(context, player, first);
  const also = problems.length > 1 ? ` ${problems.length} of ${count} schedules failed.` : "";
  const told =
    `${smallest.problem} Smallest failing schedule: ${describeSchedule(smallest.played.schedule)}.${also} ` +
    `Replay: --explore ${count} --seed ${context.seed}`;
  return failed(smallest.cause, told, smallest.played.exchanges);
}

type Problem = { played: Played; problem: string; cause: CauseName };

/** Holds what the receiver handled against what it acknowledged. */
async function findProblems(context: CheckContext, played: Played[], withinMs: number): Promise<Problem[]> {
  const handled = await settle({
    entries: played.map(({ eventId, acknowledged }) => ({
      eventId,
      acknowledged,
      documented: true,
    })),
    observe: context.handledNow,
    withinMs,
    quietMs: context.timing.quietMs,
  });
  return played.flatMap((one): Problem[] => {
    if (one.refusal !== undefined) return [{ played: one, ...one.refusal }];
    const found = problemOf(one, handled.of(one.eventId));
    return found === undefined ? [] : [{ played: one, ...found }];
  });
}

function problemOf(
  { eventId, acknowledged, reached }: Played,
  reading: Reading,
): { cause: CauseName; problem: string } | undefined {
  const cause = "never_handled";
  if (!reading.known) return { cause, problem: reading.reason };
  const { count } = reading;
  const isOpen = reading.deferredUntil !== undefined || reading.isIgnored === true;
  const told = `Event ${eventId} was ${acknowledged ? "acknowledged, and " : ""}handled ${count} times`;
  if (count > 1) return { cause: "handled_twice", problem: `${told} instead of once.` };
  if (acknowledged && count === 0 && !isOpen) return { cause, problem: `${told} instead of once.` };
  if (reached || count === 0) return undefined;
  return { cause: "forgery_handled", problem: `${told}, though no whole delivery of it arrived.` };
}

/** Tries simpler schedules as long as one of them fails too. */
async function shrink(context: CheckContext, player: Player, failing: Problem): Promise<Problem> {
  const withinMs = context.timing.settleShrinkingMs;
  for (const schedule of simplerSchedules(failing.played.schedule)) {
    const tries: Schedule[] = Array.from({ length: SHRINK_TRIES }, () => schedule);
    const [problem] = await findProblems(context, await player.play(tries), withinMs);
    if (problem !== undefined) return shrink(context, player, problem);
  }
  return failing;
}
