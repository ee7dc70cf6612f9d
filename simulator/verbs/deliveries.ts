import { type AnswerFigures, answerFigures } from "../domain/blame.ts";
import type { Attempt, Attempts } from "../domain/attempts.ts";
import type { Deliveries, Delivery } from "../domain/deliveries.ts";
import type {
  DeliveryPage,
  DeliverySearch,
  DeliverySummaries,
  DeliverySummary,
  JudgedAttempt,
} from "../domain/delivery-summaries.ts";
import type { Dispatcher } from "../domain/dispatcher.ts";
import type { Emitter } from "../domain/emitter.ts";
import type { Endpoint, Endpoints } from "../domain/endpoints.ts";
import type { EventLog } from "../domain/events.ts";
import type { Readings } from "../domain/readings.ts";
import { signingSecrets } from "../domain/signing-secrets.ts";
import { attemptAgain, wireRequest, type WireRequest } from "./attempt-wire.ts";
import { refuse, type Refusal } from "./refusal.ts";

/** What one request sends again at most. */
const MOST_RESENT = 1_000;

/** A delivery with everything. */
export type DeliveryDetail = {
  summary: DeliverySummary;
  /** Undefined once it is removed. */
  endpoint: Endpoint | undefined;
  attempts: (JudgedAttempt & Attempt & { sentBody: Buffer; wire: WireRequest | undefined })[];
};

/** How an endpoint has answered lately. */
export type EndpointAnswers = {
  figures: AnswerFigures;
  /** The last ones that ended, oldest first. */
  attempts: JudgedAttempt[];
};

/** So many deliveries of an endpoint, the newest, are what it did lately; so many of their attempts are told. */
const RECENT_DELIVERIES = 200;
const RECENT_ATTEMPTS = 48;

/** What one can do with deliveries: look at them and their attempts, send one again, make the next attempt now. */
export function createDeliveryVerbs(options: {
  deliveries: Deliveries;
  deliverySummaries: DeliverySummaries;
  attempts: Attempts;
  events: EventLog;
  endpoints: Endpoints;
  emitter: Emitter;
  dispatcher: Dispatcher;
  now: () => number;
  wallNowMs: () => number;
  readings: () => Readings;
  keepAlive: boolean;
  /** How many deliveries are kept. */
  kept: number;
}) {
  const { deliveries, deliverySummaries, attempts, events, endpoints, emitter, dispatcher, now } = options;

  function noDelivery(id: string): Refusal {
    const kept = options.kept.toLocaleString("en");
    return refuse(
      "not_found",
      `There is no delivery ${JSON.stringify(id)}. Of old deliveries, the last ${kept} are kept.`,
    );
  }

  return {
    /** What to tell somebody who asks for a delivery that is not here. */
    noDelivery,
    find: (id: string): Delivery | undefined => deliveries.find(id),
    /** As lists show it. */
    summary: (id: string): DeliverySummary | undefined => deliverySummaries.find(id),
    page: (search: DeliverySearch): DeliveryPage => deliverySummaries.page(search),
    attempts: (id: string): Attempt[] => attempts.ofDelivery(id),
    /** How an endpoint has answered in its last 200 deliveries. */
    answersOf(endpointId: string): EndpointAnswers {
      const recent = deliverySummaries.page({ endpointId, limit: RECENT_DELIVERIES }).deliveries;
      const ended = recent
        .flatMap((delivery) => delivery.attempts)
        .filter(({ endedAtMs }) => endedAtMs !== null)
        .toSorted((left, right) => left.wallStartedAtMs - right.wallStartedAtMs);
      return { figures: answerFigures(ended), attempts: ended.slice(-RECENT_ATTEMPTS) };
    },
    /** With all that was sent and answered, byte for byte. */
    detail(id: string): DeliveryDetail | undefined {
      const summary = deliverySummaries.find(id);
      if (summary === undefined) return undefined;
      const body = deliveries.find(id)?.body ?? events.find(summary.eventId)?.body ?? Buffer.alloc(0);
      const endpoint = endpoints.find(summary.endpointId);
      const judged = new Map(summary.attempts.map((attempt) => [attempt.number, attempt]));
      return {
        summary,
        endpoint,
        attempts: attempts.ofDelivery(id).flatMap((attempt) => {
          const known = judged.get(attempt.number);
          if (known === undefined) return [];
          const sentBody = attempt.requestBody ?? body;
          const { requestHeaders: headers } = attempt;
          const wire = endpoint && wireRequest({ ...options, url: endpoint.url, headers, body: sentBody });
          return [{ ...attempt, ...known, sentBody, wire }];
        }),
      };
    },
    /** Sends the same event to the same endpoint again, as a new delivery; answers its id. */
    resend(id: string): { ok: true; id: string } | Refusal {
      const delivery = deliveries.find(id);
      if (delivery === undefined) return noDelivery(id);
      const { endpointId } = delivery;
      return endpoints.find(endpointId) === undefined
        ? refuse("endpoint_deleted", `The endpoint ${endpointId} was deleted: register it again.`)
        : { ok: true, id: emitter.resend(delivery) };
    },
    /**
     * Sends again what gave up and was not sent again since, of all endpoints or of one: at most 1,000, the oldest first.
     * Answers the new deliveries' ids, and whether there is more.
     */
    resendAll(endpointId?: string): { ids: string[]; hasMore: boolean } {
      const found = deliveries.gaveUp(MOST_RESENT + 1, endpointId);
      const ids = found.slice(0, MOST_RESENT).map((delivery) => emitter.resend(delivery));
      return { ids, hasMore: found.length > MOST_RESENT };
    },
    /** An attempt as it would be made now, signed at this moment: what was sent then is too old by now. */
    signAgain(id: string, number: number): { ok: true; url: string; request: WireRequest } | Refusal {
      const delivery = deliveries.find(id);
      const attempt = attempts.ofDelivery(id).find((made) => made.number === number);
      if (delivery === undefined || attempt === undefined) return noDelivery(id);
      const endpoint = endpoints.find(delivery.endpointId);
      if (endpoint === undefined)
        return refuse(
          "endpoint_deleted",
          `The endpoint ${delivery.endpointId} was deleted, and its secret with it.`,
        );
      const { url } = endpoint;
      const secrets = signingSecrets(endpoint, now(), options.readings());
      const body = delivery.body ?? events.find(delivery.eventId)?.body ?? Buffer.alloc(0);
      const { faults } = delivery;
      const wallNowMs = options.wallNowMs();
      const request = attemptAgain({
        attempt,
        faults,
        body,
        url,
        secrets,
        wallNowMs,
        readings: options.readings(),
      });
      return { ok: true, url, request };
    },
    /** Makes the attempt that waits now. */
    attemptNow(id: string): { ok: true } | Refusal {
      const delivery = deliveries.find(id);
      if (delivery === undefined) return noDelivery(id);
      if (delivery.nextAttemptAtMs === null) {
        const why = delivery.state === "attempting" ? "its attempt is under way" : `it is ${delivery.state}`;
        return refuse("nothing_due", `No attempt of ${id} waits: ${why}.`);
      }
      deliveries.hurry(id, now());
      dispatcher.wake();
      return { ok: true };
    },
  };
}
