import { setTimeout as sleep } from "node:timers/promises";
import { EVENT_TYPES, type EventType } from "../../shared/events.ts";
import { signalGroup } from "../processes/process-group.ts";
import type { CheckContext } from "./check.ts";
import { type Exchange, isAcknowledged } from "./delivery.ts";
import { whenReady } from "./readiness.ts";

/** What came of killing the receiver once and starting it again. */
export type Round = {
  /** Why it did not start again. */
  notRestarted?: string;
  /** What was sent, by its part in the round. */
  exchanges: Exchange[];
};

/** A round in which the same process had handled one event, and stored another, when it was killed. */
export type AcknowledgedRound = Round & {
  /** The event that was acknowledged right before the kill. */
  last: Exchange[];
  /** An event acknowledged before, and its duplicate afterwards. */
  duplicate: Exchange[];
  /** The same for an event that had been handled. */
  handled: Exchange[];
  /** The first delivery after the restart. */
  revived: Exchange[];
};

/** Kills while deliveries streamed in: which were acknowledged, and how long before. */
export type StreamedRound = Round & { kills: number; closestMs: number };

export type KillRounds = ReturnType<typeof createKillRounds>;

/** Connections that deliver side by side until the kill. */
const LANES = 3;
const STREAMED_MAXIMUM = 400;
/** How long after an answer a kill follows; each round takes the next. */
const DELAYS_MS = [0, 0.3, 1, 0.1, 3, 0, 0.6, 2, 0.05, 5];

/**
 * Kills the receiver and starts it again, once for all checks that can be judged by the same kill: a restart is what
 * takes the time. Each round is played when a check first asks for it.
 */
export function createKillRounds(contextOf: () => CheckContext) {
  const context = lazy(async () => contextOf());

  /** Kills, by default right away, starts again and waits until it is ready; `exchanges` are for the evidence. */
  async function restarted(exchanges: Exchange[], kill?: () => Promise<void>): Promise<Round> {
    const { receiver } = await context();
    await (kill ?? (async () => receiver?.kill()))();
    const start = await receiver?.restart();
    if (start?.ok === false) return { notRestarted: start.message, exchanges };
    return { exchanges };
  }

  /** Gives it a moment before the next kill, so that a second handling is not cut off unseen. */
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
    const last = [await answeredAtOnce(own, () => void receiver?.kill())];
    const round = await restarted([...handled, ...duplicate, ...last]);
    if (round.notRestarted !== undefined) return { ...round, last, duplicate, handled, revived: [] };

    const revived = [await firstAfterRestart(own)];
    for (const exchanges of [duplicate, handled]) {
      const again = await Promise.all(exchanges.map(({ request }) => deliver(request.body)));
      exchanges.push(...again);
    }
    const exchanges = [...handled, ...duplicate, ...last, ...revived];
    await comeToRest(own, exchanges);
    return { exchanges, last, duplicate, handled, revived };
  }

  async function playBurst(): Promise<Round> {
    const own = await context();
    const { deliver, event, receiver, timing } = own;
    let acknowledged = 0;
    const sent = await Promise.all(
      Array.from({ length: timing.burst }, async () => {
        const exchange = await deliver(event("order.created"));
        if (isAcknowledged(exchange)) acknowledged += 1;
        // In the midst of it, not after it: some were answered, some are being stored, some have not arrived.
        if (acknowledged === Math.ceil(timing.burst / 3)) await receiver?.kill();
        return exchange;
      }),
    );
    const round = await restarted(sent);
    if (round.notRestarted !== undefined) return round;
    const lost = sent.filter((exchange) => !isAcknowledged(exchange));
    await firstAfterRestart(own);
    const retried = await Promise.all(lost.map(({ request }) => deliver(request.body)));
    const exchanges = [...sent.filter(isAcknowledged), ...retried];
    await comeToRest(own, exchanges);
    return { exchanges };
  }

  async function playTerminated(): Promise<Round> {
    const own = await context();
    const sent = [await own.deliver(own.event("order.created"))];
    const round = await restarted(sent, async () => own.receiver?.stop());
    if (round.notRestarted === undefined) await comeToRest(own, sent);
    return round;
  }

  async function playStreamed(): Promise<StreamedRound> {
    const own = await context();
    const exchanges: Exchange[] = [];
    let closestMs = Number.POSITIVE_INFINITY;
    let kills = 0;
    for (; kills < own.timing.kills; kills += 1) {
      const stream = await streamUntilKilled(own, DELAYS_MS[kills % DELAYS_MS.length] ?? 0);
      exchanges.push(...stream.acknowledged);
      closestMs = Math.min(closestMs, stream.closestMs);
      const { notRestarted } = await restarted(exchanges);
      if (notRestarted !== undefined) return { notRestarted, exchanges, kills, closestMs };
      await firstAfterRestart(own);
    }
    await comeToRest(own, exchanges);
    return { exchanges, kills, closestMs };
  }

  return {
    /** A kill as the answer to an event begins. */
    acknowledged: lazy(playAcknowledged),
    /** A kill in the midst of a burst. */
    burst: lazy(playBurst),
    /** SIGTERM right after an answer. */
    terminated: lazy(playTerminated),
    /** Several kills, each microseconds to milliseconds after an answer, while deliveries stream in. */
    streamed: lazy(playStreamed),
  };
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

/** Delivers over several connections and kills the receiver `delayMs` after an answer; what was acknowledged by then. */
async function streamUntilKilled(
  context: CheckContext,
  delayMs: number,
): Promise<{ acknowledged: Exchange[]; closestMs: number }> {
  const acknowledged: Exchange[] = [];
  let answers = 0;
  const kill: { done?: Promise<void> } = {};
  let closestMs = Number.POSITIVE_INFINITY;

  function onAnswer(isTaken: boolean): void {
    if (kill.done !== undefined || !isTaken) return;
    answers += 1;
    const answeredAt = performance.now();
    if (answers < LANES * 2) return;
    while (performance.now() - answeredAt < delayMs);
    // The bare signal first: what else kill() does takes a millisecond, in which a gap would close.
    if (context.receiver !== undefined) signalGroup(context.receiver.pid, "SIGKILL");
    closestMs = performance.now() - answeredAt;
    kill.done = context.receiver?.kill() ?? Promise.resolve();
  }

  await Promise.all(
    Array.from({ length: LANES }, async (_, lane) => {
      for (let sent = 0; sent < STREAMED_MAXIMUM && kill.done === undefined; sent += 1) {
        const exchange = await answeredAtOnce(context, onAnswer, EVENT_TYPES[lane]);
        if (isAcknowledged(exchange)) acknowledged.push(exchange);
        else break;
      }
    }),
  );
  await kill.done;
  return { acknowledged, closestMs };
}

function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
