import { EVENT_TYPES, type Envelope } from "../../shared/events.ts";
import { createRandom } from "../domain/random.ts";
import { signalGroup } from "../processes/process-group.ts";
import type { StartFailure } from "../processes/receiver-process.ts";
import { whenReady } from "./attempts.ts";
import type { CheckContext } from "./context.ts";
import { type Exchange, isAcknowledged } from "./delivery.ts";
import { isHandled } from "./judgement.ts";
import type { Ledger } from "./ledger.ts";

const LEAST_KILLS = 2;
/** Connections that deliver side by side until the kill. */
const LANES = 6;
/** A lane sends no more than this until the kill, and less where the kill waits for what was sent to be handled. */
const STREAMED_MAXIMUM = 400;
const WAITING_MAXIMUM = 8;
/** Every other kill follows an answer within so many milliseconds, the others within so many. */
const SOON_MS = 3;
const LATER_MS = 60;
/** A kill that waits for the first handled event waits no longer than this. */
const FIRST_HANDLED_MS = 1_500;

/** What comes after the last kill of a stream, before effects are waited for. */
const AFTERWARDS_MS = 8_000;

/** The receiver was killed and started again; `notRestarted` says why it did not start. */
export type Round = { notRestarted?: StartFailure | undefined; exchanges: Exchange[] };

/** A kill as the answer to an event begins, in a process that had handled one event and stored another. */
export const acknowledgedRound = oncePerRun(async (context) => {
  const { deliver, event, handledNow, receiver, timing, waitUntil } = context;
  const handled = [await deliver(event("order.created"))];
  await waitUntil(async () => {
    const reading = await handledNow(handled[0]?.eventId ?? "");
    return !reading.known || reading.count > 0;
  }, timing.promptMs);
  const duplicate = [await deliver(event("booking.created"))];
  const last = [await answeredAtOnce(context, createTrigger(context, 1, 0).onAnswer, event())];
  await receiver?.kill();
  const round = await restarted(context, [...handled, ...duplicate, ...last]);
  const revived: Exchange[] = [];
  if (round.notRestarted === undefined) {
    revived.push(await firstAfterRestart(context));
    for (const exchanges of [duplicate, handled])
      exchanges.push(...(await Promise.all(exchanges.map(({ request }) => deliver(request.body)))));
  }
  /** `duplicate` and `handled` are sent again afterwards; `revived` is the first delivery after the restart. */
  return { ...round, last, duplicate, handled, revived };
});

/** Kills at random moments while deliveries stream in and events are handled, the same for the same seed. */
export const streamedRound = oncePerRun(async (context) => {
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
    ({ notRestarted } = await restarted(context, []));
    if (notRestarted !== undefined) break;
    await firstAfterRestart(context);
    const taken = new Set(promised.map(({ eventId }) => eventId));
    const lost = streamed.sent.filter(({ eventId }) => !taken.has(eventId));
    retried.push(...(await Promise.all(lost.map(({ request }) => deliver(request.body)))));
  }
  /** The events acknowledged before a kill, those sent again after one, and how soon the closest kill came. */
  return { notRestarted, exchanges, retried, kills, closestMs };
});

/** SIGTERM right after an answer. */
export const terminatedRound = oncePerRun(async (context) => {
  const sent = [await context.deliver(context.event("order.created"))];
  await context.receiver?.stop();
  return restarted(context, sent);
});

/** A round is played once in a run, for all checks that are judged by it: a restart is what takes the time. */
function oncePerRun<Played>(play: (context: CheckContext) => Promise<Played>) {
  const rounds = new WeakMap<Ledger, Promise<Played>>();
  return (context: CheckContext): Promise<Played> => {
    const round = rounds.get(context.ledger) ?? play(context);
    rounds.set(context.ledger, round);
    return round;
  };
}

async function restarted({ receiver }: CheckContext, exchanges: Exchange[]): Promise<Round> {
  const start = await receiver?.restart();
  return start?.ok === false ? { exchanges, notRestarted: start } : { exchanges };
}

/** Delivers to a receiver that may still boot. */
function firstAfterRestart({ deliver, event, timing, leftMs }: CheckContext): Promise<Exchange> {
  const envelope = event("voicemail.created");
  return whenReady({ readyMs: Math.min(timing.readyMs, leftMs()) }, () => deliver(envelope));
}

/** One delivery; `onAnswer` is called as soon as the status line is there, before anything else can happen. */
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
    // The bare signal: what else kill() does takes a millisecond, in which a gap would close.
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
async function streamUntilKilled(
  context: CheckContext,
  when: number | "handled",
): Promise<{ sent: Exchange[]; closestMs: number }> {
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
    let first: string | undefined;
    await waitUntil(async () => {
      first ??= sent.find(isAcknowledged)?.eventId;
      return first !== undefined && isHandled(await handledNow(first));
    }, FIRST_HANDLED_MS);
    trigger.kill();
  }
  await Promise.all(lanes);
  await receiver?.kill();
  // One answer is enough to have promised an event, and one exchange tells of it.
  const byId = new Map<string, Exchange>();
  for (const exchange of sent)
    if (isAcknowledged(exchange) || !byId.has(exchange.eventId)) byId.set(exchange.eventId, exchange);
  return { sent: [...byId.values()], closestMs: trigger.closestMs() };
}
