import { EVENT_TYPES, type Envelope } from "../../../shared/events.ts";
import { createRandom } from "../../domain/random.ts";
import { signalGroup } from "../../processes/process-group.ts";
import type { StartFailure } from "../../processes/receiver-process.ts";
import { whenReady } from "../attempts.ts";
import type { Check, HandledCounts, Runs, Verdict } from "../check.ts";
import type { CheckContext } from "../context.ts";
import { type Exchange, isAcknowledged } from "../delivery.ts";
import {
  allAcknowledged,
  AT_LEAST_ONCE,
  AT_MOST_ONCE,
  every,
  failed,
  handledTimes,
  isAtRest,
  isHandled,
  ONCE,
  unverified,
  whenSettled,
} from "../judgement.ts";
import type { Ledger } from "../ledger.ts";

const LEAST_KILLS = 2;
const LANES = 6;
/** The maximum deliveries of a lane until the kill; fewer if the kill waits until they are handled. */
const [STREAMED_MAXIMUM, WAITING_MAXIMUM] = [400, 8];
/** A kill follows an answer, or the first handled event, within so many milliseconds. */
const [SOON_MS, LATER_MS, FIRST_HANDLED_MS] = [3, 60, 1_500];
/** Deliveries after the last kill of a stream, before effects are awaited. */
const AFTERWARDS_MS = 8_000;

/** The receiver was killed and started again; `notRestarted` says why it did not start. */
type Round = { notRestarted?: StartFailure | undefined; exchanges: Exchange[] };

/** A kill as the answer to an event begins, in a process that had handled one event and stored another. */
const acknowledgedRound = oncePerRun(async (context) => {
  const { deliver, event, handledNow, receiver, timing, waitUntil } = context;
  const handled = [await deliver(event("order.created"))];
  await waitUntil(async () => isAtRest(await handledNow(handled[0]?.eventId ?? "")), timing.promptMs);
  const duplicate = [await deliver(event("booking.created"))];
  const last = [await answeredAtOnce(context, createTrigger(context, 1, 0).onAnswer, event())];
  await receiver?.kill();
  const exchanges = [...handled, ...duplicate, ...last];
  const notRestarted = await restarted(context);
  const revived: Exchange[] = [];
  if (notRestarted === undefined) {
    revived.push(await firstAfterRestart(context));
    for (const sent of [duplicate, handled])
      sent.push(...(await Promise.all(sent.map(({ request }) => deliver(request.body)))));
  }
  /** `duplicate` and `handled` are sent again afterwards; `revived` is the first delivery after the restart. */
  return { exchanges, notRestarted, last, duplicate, handled, revived };
});

/** Kills at random moments while deliveries stream in and events are handled, the same for the same seed. */
const streamedRound = oncePerRun(async (context) => {
  const { deliver, timing } = context;
  const random = createRandom(0, context.seed, "kills");
  const [exchanges, retried]: [Exchange[], Exchange[]] = [[], []];
  let [kills, closestMs] = [0, Number.POSITIVE_INFINITY];
  let notRestarted: StartFailure | undefined;
  const dueAt = performance.now() + timing.killsMs;
  const isTime = (): boolean => kills < LEAST_KILLS || performance.now() < dueAt;
  while (kills < timing.kills && isTime() && context.leftMs() > timing.settleMs + AFTERWARDS_MS) {
    // In turn: when the first event was handled and others wait, right after an answer, and at any moment.
    const delayMs = random.int(0, (kills % 3 === 1 ? SOON_MS : LATER_MS) * 100) / 100;
    const streamed = await streamUntilKilled(context, kills % 3 === 0 ? "handled" : delayMs);
    const promised = streamed.sent.filter(isAcknowledged);
    kills += 1;
    closestMs = Math.min(closestMs, streamed.closestMs);
    exchanges.push(...promised);
    notRestarted = await restarted(context);
    if (notRestarted !== undefined) break;
    await firstAfterRestart(context);
    const taken = new Set(promised.map(({ eventId }) => eventId));
    const lost = streamed.sent.filter(({ eventId }) => !taken.has(eventId));
    retried.push(...(await Promise.all(lost.map(({ request }) => deliver(request.body)))));
  }
  /** The events acknowledged before a kill, those sent again after one, and how soon the closest kill came. */
  return { notRestarted, exchanges, retried, kills, closestMs };
});

const terminatedRound = oncePerRun(async (context) => {
  const exchanges = [await context.deliver(context.event("order.created"))];
  await context.receiver?.stop();
  return { exchanges, notRestarted: await restarted(context) };
});

/** Daemons and containers run outside of the killed process group. */
const OUTLIVED =
  "kill -9 of the command did not end the receiver, which still listens. Give a command that is the receiver and stays in the foreground.";

/** Whether acknowledged events survive when the process is killed; only for a receiver that verify has started. */
export const crashRuns: Runs = {
  "crash.restarts": killed(acknowledgedRound, ({ revived }) => allAcknowledged(revived)),
  "crash.acknowledged-survives": killed(acknowledgedRound, ({ last }, handled) => once(last, handled)),
  "crash.stored-before-answer": killed(streamedRound, ({ exchanges, kills, closestMs }, handled) => {
    const note =
      `${kills} ${kills === 1 ? "kill" : "kills"}, with ${exchanges.length} events acknowledged before, the closest by ${closestMs.toFixed(2)} ms. ` +
      "--thorough kills more often.";
    const verdict = afterKill(handledTimes(handled, exchanges, AT_LEAST_ONCE));
    return verdict.outcome === "passed" ? { ...verdict, note } : verdict;
  }),
  "crash.while-handling": killed(streamedRound, ({ exchanges }, handled) =>
    afterKill(handledTimes(handled, exchanges, AT_MOST_ONCE)),
  ),
  "crash.retried-after-kill": killed(streamedRound, ({ retried }, handled) => once(retried, handled)),
  "crash.duplicate-after-restart": killed(acknowledgedRound, ({ duplicate }, handled) =>
    once(duplicate, handled),
  ),
  "crash.handled-before": killed(acknowledgedRound, ({ handled: sent }, handled) => once(sent, handled)),
  "crash.terminated": killed(terminatedRound, ({ exchanges }, handled) => once(exchanges, handled)),
};

const NOT_KILLED =
  "There was no time left to kill the receiver and to wait for its effects: run --only crash.";

/** Runs a round of kills, and judges it when all events are settled. */
function killed<Played extends Round>(
  play: (context: CheckContext) => Promise<Played>,
  judge: (round: Played, handled: HandledCounts) => Verdict,
): Check["run"] {
  return async (context) => {
    const round = await play(context);
    if (round.notRestarted === undefined)
      return round.exchanges.length === 0
        ? unverified(NOT_KILLED)
        : whenSettled((handled) => judge(round, handled));
    if (round.notRestarted.reason === "port_taken") return unverified(OUTLIVED);
    return failed(
      "not_restarted",
      `It did not start again: ${round.notRestarted.message}`,
      round.exchanges.slice(0, 3),
    );
  };
}

function once(exchanges: Exchange[], handled: HandledCounts): Verdict {
  return afterKill(every(allAcknowledged(exchanges), handledTimes(handled, exchanges, ONCE)));
}

/** Events lost or repeated around a kill have their own cause. */
function afterKill(verdict: Verdict): Verdict {
  if (verdict.outcome !== "failed") return verdict;
  if (verdict.cause === "never_handled") return { ...verdict, cause: "lost_in_crash" };
  return verdict.cause === "handled_twice" ? { ...verdict, cause: "repeated_after_crash" } : verdict;
}

/** Runs a round once for all checks that use it, since a restart takes long. */
function oncePerRun<Played>(play: (context: CheckContext) => Promise<Played>) {
  const rounds = new WeakMap<Ledger, Promise<Played>>();
  return (context: CheckContext): Promise<Played> => {
    const round = rounds.get(context.ledger) ?? play(context);
    rounds.set(context.ledger, round);
    return round;
  };
}

async function restarted({ receiver }: CheckContext): Promise<StartFailure | undefined> {
  const start = await receiver?.restart();
  return start?.ok === false ? start : undefined;
}

function firstAfterRestart({ deliver, event, timing, leftMs }: CheckContext): Promise<Exchange> {
  const envelope = event("voicemail.created");
  return whenReady({ readyMs: Math.min(timing.readyMs, leftMs()) }, () => deliver(envelope));
}

/** One delivery; calls `onAnswer` as soon as the status line has arrived. */
async function answeredAtOnce(
  { deliverOver, open }: CheckContext,
  onAnswer: (acknowledged: boolean) => void,
  envelope: Envelope,
  about: { note?: string } = {},
): Promise<Exchange> {
  const wire = await open();
  const exchange = await deliverOver(wire, envelope, {
    ...about,
    keepAlive: true,
    onAnswer: (outcome) => onAnswer(isAcknowledged({ outcome })),
  });
  wire.close();
  return exchange;
}

/** Kills the receiver `delayMs` after its acknowledgement number `answers`, or when `kill` is called. */
function createTrigger({ receiver }: CheckContext, answers: number, delayMs: number) {
  let acknowledged = 0;
  let answeredAt = 0;
  let closestMs = Number.POSITIVE_INFINITY;
  function kill(): void {
    if (closestMs !== Number.POSITIVE_INFINITY) return;
    // The bare signal, since the rest of kill() takes a millisecond, in which a gap would close.
    if (receiver !== undefined) signalGroup(receiver.pid, "SIGKILL");
    closestMs = performance.now() - answeredAt;
  }
  return {
    kill,
    onAnswer: (isTaken: boolean): void => {
      if (!isTaken || closestMs !== Number.POSITIVE_INFINITY) return;
      acknowledged += 1;
      answeredAt = performance.now();
      if (acknowledged !== answers) return;
      if (delayMs > SOON_MS) return void setTimeout(kill, delayMs);
      // A timer is too coarse for a part of a millisecond.
      while (performance.now() - answeredAt < delayMs);
      kill();
    },
    isPulled: (): boolean => closestMs !== Number.POSITIVE_INFINITY,
    closestMs: (): number => closestMs,
  };
}

/**
 * Delivers each event twice at once over several connections, since a copy must not be answered before its event is
 * stored, either; and kills the receiver so many milliseconds after an answer, or when one event has been handled.
 */
async function streamUntilKilled(context: CheckContext, when: number | "handled") {
  const { event, handledNow, receiver, waitUntil, leftMs } = context;
  // The first answer of the second round: a receiver that answers copies at once has not stored these events yet.
  const answers = when === "handled" ? Number.POSITIVE_INFINITY : LANES * 2 + 1;
  const trigger = createTrigger(context, answers, when === "handled" ? 0 : when);
  const sent: Exchange[] = [];
  const dueAt = performance.now() + Math.min(leftMs(), FIRST_HANDLED_MS * 2);
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const most = when === "handled" ? WAITING_MAXIMUM : STREAMED_MAXIMUM;
    for (let n = 0; n < most && !trigger.isPulled() && performance.now() < dueAt; n += 1) {
      const envelope = event(EVENT_TYPES[lane % EVENT_TYPES.length]);
      const send = (): Promise<Exchange> =>
        answeredAtOnce(context, trigger.onAnswer, envelope, { note: "Twice at once." });
      sent.push(...(await Promise.all([send(), send()])));
    }
  });
  if (when === "handled") {
    await waitUntil(async () => {
      const first = sent.find(isAcknowledged);
      return first !== undefined && isHandled(await handledNow(first.eventId));
    }, FIRST_HANDLED_MS);
    trigger.kill();
  }
  await Promise.all(lanes);
  await receiver?.kill();
  // One answer acknowledges an event, and one exchange shows it.
  const byId = new Map<string, Exchange>();
  for (const exchange of sent)
    if (isAcknowledged(exchange) || !byId.has(exchange.eventId)) byId.set(exchange.eventId, exchange);
  return { sent: [...byId.values()], closestMs: trigger.closestMs() };
}
