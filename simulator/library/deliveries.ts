import { envelopeSchema, type Envelope } from "../../shared/events.ts";
import type { Answer, Attempt, AttemptError } from "../domain/attempts.ts";
import type { Delivery, DeliveryState } from "../domain/deliveries.ts";
import type { StoredEvent } from "../domain/events.ts";
import type { Simulator } from "../simulator.ts";

/** One event on its way to one endpoint. Times without `wall` are schedule time. */
export type DeliveryRecord = {
  id: string;
  eventId: string;
  eventType: string;
  endpointId: string;
  state: DeliveryState;
  /** When the next attempt is due; null while one is under way and when there is none. */
  nextAttemptAt: Date | null;
  /** The delivery that this one was sent again for. */
  resendOf: string | null;
  attempts: AttemptRecord[];
};

/** One HTTP try, counted from 1. */
export type AttemptRecord = {
  number: number;
  scheduledAt: Date;
  startedAt: Date;
  wallStartedAt: Date;
  /** Until the outcome was known; null while it is under way. */
  durationMs: number | null;
  /** The `t` of its signature, seconds of Unix time. */
  signatureTimestamp: number;
  httpStatus: number | null;
  error: AttemptError | null;
  request: { headers: Record<string, string>; body: Buffer };
  /** What came back, its body up to 16 KiB; null when nothing did. */
  answer: Answer | null;
};

export type DeliverySearch = { state?: DeliveryState; endpointId?: string; eventId?: string; limit?: number };

export type DeliveryControl = {
  /** Newest first, 1,000 at most unless told otherwise. */
  list(search?: DeliverySearch): DeliveryRecord[];
  /** Throws when there is no such delivery. */
  get(id: string): DeliveryRecord;
  /** Resolves when nothing is under way and nothing is due now (with the clock `skip`: nothing is due any more). */
  settled(): Promise<void>;
  /** Resolves when this delivery is delivered or dead, which takes somebody to move a `manual` clock. */
  finished(id: string): Promise<DeliveryRecord>;
  /** Sends the same event to the same endpoint again, as a new delivery, and resolves as `emit` does. */
  resend(id: string): Promise<DeliveryRecord>;
  /** Sends an envelope, signed afresh, to every endpoint that selected its type: again, or a recorded one. */
  replay(envelope: Envelope, options?: { newId?: boolean }): Promise<DeliveryRecord[]>;
};

const MOST_LISTED = 1_000;

export function createDeliveryControl(simulator: Simulator): DeliveryControl {
  const { deliveries, attempts, events, emitter, dispatcher, journal } = simulator;

  function get(id: string): DeliveryRecord {
    const delivery = deliveries.find(id);
    if (delivery === undefined) throw new Error(`There is no delivery ${JSON.stringify(id)}.`);
    return record(delivery);
  }

  function record(delivery: Delivery): DeliveryRecord {
    const event = events.find(delivery.eventId);
    const body = delivery.body ?? event?.body ?? Buffer.alloc(0);
    return {
      id: delivery.id,
      eventId: delivery.eventId,
      eventType: event?.type ?? "",
      endpointId: delivery.endpointId,
      state: delivery.state,
      nextAttemptAt: delivery.nextAttemptAtMs === null ? null : new Date(delivery.nextAttemptAtMs),
      resendOf: delivery.resendOf,
      attempts: attempts.ofDelivery(delivery.id).map((attempt) => attemptRecord(attempt, body)),
    };
  }

  return {
    list: ({ limit = MOST_LISTED, ...search } = {}) => deliveries.list({ ...search, limit }).map(record),
    get,
    settled: () => dispatcher.settled(),
    finished: (id) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = get(id);
          if (found.state !== "attempting") resolve(found);
          return found.state !== "attempting";
        };
        if (look()) return;
        const stop = journal.watch((entry) => {
          if (entry.kind === "reset") {
            stop();
            reject(new Error(`The simulator was reset before delivery ${id} was finished.`));
          } else if ("deliveryId" in entry && entry.deliveryId === id && look()) stop();
        });
      }),
    async resend(id) {
      const delivery = deliveries.find(get(id).id);
      if (delivery === undefined) throw new Error(`There is no delivery ${JSON.stringify(id)}.`);
      const resentId = emitter.resend(delivery);
      await dispatcher.settled();
      return get(resentId);
    },
    async replay(envelope, { newId = false } = {}) {
      const { deliveryIds } = emitter.replay(envelopeSchema.parse(envelope), { newId });
      await dispatcher.settled();
      return deliveryIds.map(get);
    },
  };
}

/** The envelope of an event, as it is sent. */
export function envelopeOf(event: StoredEvent): Envelope {
  return envelopeSchema.parse(JSON.parse(event.body.toString()));
}

function attemptRecord(attempt: Attempt, body: Buffer): AttemptRecord {
  return {
    number: attempt.number,
    scheduledAt: new Date(attempt.scheduledAtMs),
    startedAt: new Date(attempt.startedAtMs),
    wallStartedAt: new Date(attempt.wallStartedAtMs),
    durationMs: attempt.durationMs,
    signatureTimestamp: attempt.signatureTimestamp,
    httpStatus: attempt.httpStatus,
    error: attempt.error,
    request: { headers: attempt.requestHeaders, body: attempt.requestBody ?? body },
    answer: attempt.answer,
  };
}
