import { setTimeout as sleep } from "node:timers/promises";
import { EVENT_TYPES, type EventType } from "../../shared/events.ts";
import { signalGroup } from "../processes/process-group.ts";
import type { ReceiverProcess } from "../processes/receiver-process.ts";
import type { CheckContext } from "./context.ts";
import type { AcknowledgedRound, BurstRound, KillRounds, Round, StreamedRound } from "./rounds.ts";
import { type Exchange, isAcknowledged } from "./delivery.ts";
import { whenReady } from "./attempts.ts";

/** Connections that deliver side by side until the kill. */
const LANES = 3;
const STREAMED_MAXIMUM = 400;
/** How long after an answer a kill follows; each round takes the next. */
const DELAYS_MS = [0.3, 1, 0, 0.1, 3, 0, 0.6, 2, 0.05, 5];

/**
 * Kills the receiver and starts it again, once for all checks that can be judged by the same kill: a restart is what
 * takes the time. Each round is played when a check first asks for it.
 */
export function createKillRounds(contextOf: () => CheckContext): KillRounds {
  const context = lazy(async () => contextOf());
  const acknowledged = lazy(playAcknowledged);
  const burst = lazy(playBurst);

  /** Starts the receiver again, which was killed `closestMs` after an answer; `exchanges` are for the evidence. */
  async function restarted(exchanges: Exchange[], closestMs: number): Promise<Round> {
    const { receiver } = await context();
    const start = await receiver?.restart();
    const round = { exchanges, closestMs };
    return start?.ok === false ? { ...round, notRestarted: start.message } : round;
  }

  /** Gives the receiver a moment before the next kill, which could hide that it handles an event a second time. */
  async function comeToRest(
    { handledNow, waitUntil, timing }: CheckContext,
    sent: Exchange[],
  ): Promise<void> {
    await waitUntil(async () => {
      const readings = await Promise.all(sent.map(({ eventId }) => handledNow(eventId)));
      return readings.every((reading) => !reading.known || reading.count > 0);
    }, timing.promptMs);
    await sleep(timing.restMs);
  }

  async function playAcknowledged(): Promise<AcknowledgedRound> {
    const own = await context();
    const { deliver, event, handledNow, receiver, timing, waitUntil } = own;
    const handled = [await deliver(event("order.created"))];
    await waitUntil(async () => {
      const reading = await handledNow(handled[0]?.eventId ?? "");
      return !reading.known || reading.count > 0;
    }, timing.settleMs);
    const duplicate = [await deliver(event("booking.created"))];
    const trigger = createTrigger(receiver, { answers: 1, delayMs: 0 });
    const last = [await answeredAtOnce(own, trigger.onAnswer)];
    await receiver?.kill();
    const round = await restarted([...handled, ...duplicate, ...last], trigger.closestMs());
    if (round.notRestarted !== undefined) return { ...round, last, duplicate, handled, revived: [] };

    const revived = [await firstAfterRestart(own)];
    for (const exchanges of [duplicate, handled]) {
      const again = await Promise.all(exchanges.map(({ request }) => deliver(request.body)));
      exchanges.push(...again);
    }
    const exchanges = [...handled, ...duplicate, ...last, ...revived];
    await comeToRest(own, exchanges);
    return { ...round, exchanges, last, duplicate, handled, revived };
  }

  async function playBurst(): Promise<BurstRound> {
    const own = await context();
    const { deliver, receiver, timing } = own;
    // During the burst: some were answered, some are being stored, some have not arrived.
    const trigger = createTrigger(receiver, { answers: Math.ceil(timing.burst / 3), delayMs: 0.1 });
    const sent = await Promise.all(
      Array.from({ length: timing.burst }, () => answeredAtOnce(own, trigger.onAnswer, "order.created")),
    );
    await receiver?.kill();
    const round = await restarted(sent, trigger.closestMs());
    const answered = sent.filter(isAcknowledged);
    if (round.notRestarted !== undefined) return { ...round, answered };
    const lost = sent.filter((exchange) => !isAcknowledged(exchange));
    await firstAfterRestart(own);
    const retried = await Promise.all(lost.map(({ request }) => deliver(request.body)));
    const exchanges = [...answered, ...retried];
    await comeToRest(own, exchanges);
    return { ...round, exchanges, answered };
  }

  async function playTerminated(): Promise<Round> {
    const own = await context();
    const sent = [await own.deliver(own.event("order.created"))];
    await own.receiver?.stop();
    const round = await restarted(sent, Number.POSITIVE_INFINITY);
    if (round.notRestarted === undefined) await comeToRest(own, sent);
    return round;
  }

  async function playStreamed(): Promise<StreamedRound> {
    const own = await context();
    const first = await acknowledged();
    const second = await burst();
    const rounds: Round[] = [
      { ...first, exchanges: first.last },
      { ...second, exchanges: second.answered },
    ];
    for (let kills = 0; kills < own.timing.kills; kills += 1) {
      const stream = await streamUntilKilled(own, DELAYS_MS[kills % DELAYS_MS.length] ?? 0);
      const round = await restarted(stream.exchanges, stream.closestMs);
      rounds.push(round);
      if (round.notRestarted !== undefined) break;
      await firstAfterRestart(own);
    }
    const exchanges = rounds.flatMap((round) => round.exchanges.filter(isAcknowledged));
    await comeToRest(own, exchanges);
    const notRestarted = rounds.find((round) => round.notRestarted !== undefined)?.notRestarted;
    const closestMs = Math.min(...rounds.map((round) => round.closestMs));
    return { exchanges, closestMs, kills: rounds.length, notRestarted };
  }

  return { acknowledged, burst, terminated: lazy(playTerminated), streamed: lazy(playStreamed) };
}

/** Delivers to a receiver that may still boot. */
function firstAfterRestart({ deliver, event, timing }: CheckContext): Promise<Exchange> {
  const envelope = event("voicemail.created");
  return whenReady(timing, () => deliver(envelope));
}

/** One delivery; `onAnswer` is called as soon as the status line is there, before anything else can happen. */
async function answeredAtOnce(
  { compose, event, open, record }: CheckContext,
  onAnswer: (acknowledged: boolean) => void,
  type?: EventType,
): Promise<Exchange> {
  const envelope = event(type);
  const { head, framedBody, request } = compose(envelope, { keepAlive: true });
  const startedAt = performance.now();
  const wire = await open();
  await wire.write(Buffer.concat([head, framedBody]));
  const outcome = await wire.answer({ bodyMs: 0 });
  const exchange = { eventId: envelope.id, request, outcome, durationMs: performance.now() - startedAt };
  onAnswer(isAcknowledged(exchange));
  wire.close();
  return record(exchange, { forged: false, connected: wire.connected });
}

/** Kills the receiver `delayMs` after its acknowledgement number `answers`. */
function createTrigger(
  receiver: ReceiverProcess | undefined,
  { answers, delayMs }: { answers: number; delayMs: number },
) {
  let acknowledged = 0;
  let closestMs = Number.POSITIVE_INFINITY;
  return {
    onAnswer: (isTaken: boolean): void => {
      if (!isTaken) return;
      acknowledged += 1;
      if (acknowledged !== answers) return;
      const answeredAt = performance.now();
      // A timer is too coarse for a part of a millisecond.
      while (performance.now() - answeredAt < delayMs);
      // The bare signal: what else kill() does takes a millisecond, in which a gap would close.
      if (receiver !== undefined) signalGroup(receiver.pid, "SIGKILL");
      closestMs = performance.now() - answeredAt;
    },
    isPulled: (): boolean => acknowledged >= answers,
    closestMs: (): number => closestMs,
  };
}

/** Delivers over several connections and kills the receiver `delayMs` after an answer. */
async function streamUntilKilled(
  context: CheckContext,
  delayMs: number,
): Promise<{ exchanges: Exchange[]; closestMs: number }> {
  const trigger = createTrigger(context.receiver, { answers: LANES * 2, delayMs });
  const exchanges: Exchange[] = [];
  await Promise.all(
    Array.from({ length: LANES }, async (_, lane) => {
      for (let sent = 0; sent < STREAMED_MAXIMUM && !trigger.isPulled(); sent += 1) {
        exchanges.push(await answeredAtOnce(context, trigger.onAnswer, EVENT_TYPES[lane]));
      }
    }),
  );
  await context.receiver?.kill();
  return { exchanges, closestMs: trigger.closestMs() };
}

function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
