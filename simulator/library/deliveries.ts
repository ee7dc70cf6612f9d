import { envelopeSchema, type Envelope } from "../../shared/events.ts";
import type { Answer, AttemptError } from "../domain/attempts.ts";
import type { Blame } from "../domain/blame.ts";
import type { DeliveryState } from "../domain/deliveries.ts";
import type { StoredEvent } from "../domain/events.ts";
import { formatFaults } from "../domain/faults.ts";
import type { Simulator } from "../simulator.ts";
import type { DeliveryDetail } from "../verbs/deliveries.ts";
import { orThrow } from "./input.ts";

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
  /** What was done wrong to it on purpose. */
  fault: string | null;
  /** Whose doing its failure is; null when it did not fail. */
  blame: Blame | null;
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
  /**
   * Sends an envelope, signed afresh, to every endpoint that selected its type: again, or a recorded one. Throws where its
   * id stands for another event here: `newId` sends it under an id of its own.
   */
  replay(envelope: Envelope, options?: { newId?: boolean }): Promise<DeliveryRecord[]>;
};

const MOST_LISTED = 1_000;

export function createDeliveryControl(simulator: Simulator): DeliveryControl {
  const { deliveries, events, journal, settled } = simulator;

  function get(id: string): DeliveryRecord {
    const detail = deliveries.detail(id);
    if (detail === undefined) throw new Error(deliveries.noDelivery(id).message);
    return record(detail);
  }

  function list({ limit = MOST_LISTED, ...search }: DeliverySearch = {}): DeliveryRecord[] {
    const records: DeliveryRecord[] = [];
    for (let after: string | null | undefined; after !== null && records.length < limit;) {
      const page = deliveries.page({ ...search, after, limit: limit - records.length });
      records.push(...page.deliveries.map(({ id }) => get(id)));
      after = page.next;
    }
    return records;
  }

  return {
    list,
    get,
    settled,
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
      const resent = orThrow(deliveries.resend(id));
      await settled();
      return get(resent.id);
    },
    async replay(envelope, { newId = false } = {}) {
      const replayed = events.replay([envelopeSchema.parse(envelope)], { newIds: newId });
      const { emitted } = orThrow(replayed);
      await settled();
      return emitted.flatMap((one) => one.deliveries.map(({ id }) => get(id)));
    },
  };
}

/** The envelope of an event, as it is sent. */
export function envelopeOf(event: StoredEvent): Envelope {
  return envelopeSchema.parse(JSON.parse(event.body.toString()));
}

function record({ summary, attempts }: DeliveryDetail): DeliveryRecord {
  return {
    id: summary.id,
    eventId: summary.eventId,
    eventType: summary.eventType,
    endpointId: summary.endpointId,
    state: summary.state,
    nextAttemptAt: summary.nextAttemptAtMs === null ? null : new Date(summary.nextAttemptAtMs),
    resendOf: summary.resendOf,
    attempts: attempts.map(attemptRecord),
  };
}

function attemptRecord(attempt: DeliveryDetail["attempts"][number]): AttemptRecord {
  return {
    number: attempt.number,
    scheduledAt: new Date(attempt.scheduledAtMs),
    startedAt: new Date(attempt.startedAtMs),
    wallStartedAt: new Date(attempt.wallStartedAtMs),
    durationMs: attempt.durationMs,
    signatureTimestamp: attempt.signatureTimestamp,
    httpStatus: attempt.httpStatus,
    error: attempt.error,
    fault: attempt.injected.length === 0 ? null : formatFaults(attempt.injected),
    blame: attempt.blame,
    request: { headers: attempt.requestHeaders, body: attempt.sentBody },
    answer: attempt.answer,
  };
}
