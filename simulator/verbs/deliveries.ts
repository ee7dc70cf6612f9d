import { setImmediate } from "node:timers/promises";
import { attemptRequest, type AttemptRequest } from "../domain/attempt-request.ts";
import { answerFigures, type JudgedAttempt, type Attempt, type Attempts } from "../domain/attempts.ts";
import type { Deliveries, Delivery } from "../domain/deliveries.ts";
import type { FoundPage } from "../domain/bounded-search.ts";
import type { DeliveryFinder, DeliverySearch, FoundDelivery } from "../domain/delivery-search.ts";
import { countFound, type Counts, type DeliveryCount } from "../domain/counts.ts";
import type { Selection } from "../domain/selection.ts";
import type { DeliverySummaries, DeliverySummary } from "../domain/delivery-summaries.ts";
import type { Dispatcher } from "../domain/dispatcher.ts";
import type { Emitter } from "../domain/emitter.ts";
import { type Endpoint, type Endpoints, signingSecrets } from "../domain/endpoints.ts";
import type { EventLog } from "../domain/events.ts";
import { faultsOnAttempt } from "../domain/faults.ts";
import type { History } from "../domain/history.ts";
import type { Readings } from "../domain/readings.ts";
import type { answersSchema } from "../domain/shapes.ts";
import type { Kept } from "../domain/spelling.ts";
import { type Refused, refused } from "../domain/refused.ts";

const LONGEST_SEARCH_MS = 2_000;

export type DeliveryDetail = {
  ok: true;
  summary: DeliverySummary;
  endpoint: Endpoint | undefined;
  attempts: (JudgedAttempt & Attempt & { sentBody: Buffer })[];
};

export type DeliveryVerbs = ReturnType<typeof createDeliveryVerbs>;

/** Newest first. With `next`, there may be more below that delivery. */
export type DeliveryPage = { deliveries: DeliverySummary[]; next: string | null };

/** How many of an endpoint's newest deliveries are counted, and how many of their attempts are shown. */
const RECENT_DELIVERIES = 200;
const RECENT_ATTEMPTS = 48;

export function createDeliveryVerbs(options: {
  deliveries: Deliveries;
  find: DeliveryFinder;
  counts: Counts;
  deliverySummaries: DeliverySummaries;
  attempts: Attempts;
  events: EventLog;
  endpoints: Endpoints;
  emitter: Emitter;
  dispatcher: Dispatcher;
  now: () => number;
  wallNowMs: () => number;
  monotonicMs: () => number;
  history: History;
  readings: () => Readings;
  kept: number;
}) {
  const { deliveries, find, deliverySummaries, attempts, events, endpoints, emitter, dispatcher, now } =
    options;

  function noDelivery(id: string): Refused {
    const kept = options.kept.toLocaleString("en");
    return refused(
      `There is no delivery ${JSON.stringify(id)}. Only the last ${kept} are kept.`,
      "not_found",
    );
  }

  function get(id: string): { ok: true; delivery: Delivery } | Refused {
    const delivery = deliveries.find(id);
    return delivery === undefined ? noDelivery(id) : { ok: true, delivery };
  }

  /** The endpoint that a delivery goes to; `lost` ends the sentence of a refusal. */
  function endpointOf({ endpointId }: Delivery, lost: string): { ok: true; endpoint: Endpoint } | Refused {
    const endpoint = endpoints.find(endpointId);
    return endpoint === undefined
      ? refused(`The endpoint ${endpointId} was deleted${lost}`, "endpoint_deleted")
      : { ok: true, endpoint };
  }

  function bodyOf({ body, eventId }: Delivery): Buffer {
    return body ?? events.find(eventId)?.body ?? Buffer.alloc(0);
  }

  /** A single look at a long list ends early; this continues until the page is full, for `longestMs`, or until aborted. */
  async function lookOn(
    search: DeliverySearch,
    { longestMs = Infinity, signal }: { longestMs?: number; signal?: AbortSignal | undefined } = {},
  ): Promise<FoundPage<FoundDelivery>> {
    const untilMs = options.monotonicMs() + longestMs;
    const all: FoundDelivery[] = [];
    for (let { after } = search; ;) {
      const { found, next } = find({ ...search, limit: search.limit - all.length, after });
      for (const one of found) all.push(one);
      const isOver = all.length >= search.limit || options.monotonicMs() >= untilMs;
      if (next === null || isOver || signal?.aborted === true) return { found: all, next };
      // Deadlines of attempts must not wait for a search.
      await setImmediate();
      after = next;
    }
  }

  async function findAll(selection: Selection, signal?: AbortSignal): Promise<FoundDelivery[]> {
    return (await lookOn({ ...selection, limit: Infinity }, { signal })).found;
  }

  function shown({ found, next }: FoundPage<FoundDelivery>): DeliveryPage {
    return { deliveries: deliverySummaries.ofIds(found.map(({ id }) => id)), next };
  }

  return {
    get,
    find: (id: string): Delivery | undefined => deliveries.find(id),
    summary: (id: string): DeliverySummary | undefined => deliverySummaries.find(id),
    page: (search: DeliverySearch): DeliveryPage => shown(find(search)),
    /** As `page`, but searches the whole list, for two seconds at most. */
    search: async (search: DeliverySearch): Promise<DeliveryPage> =>
      shown(await lookOn(search, { longestMs: LONGEST_SEARCH_MS })),
    findAll,
    count: async (selection: Selection): Promise<DeliveryCount> =>
      options.counts.of(selection) ?? countFound(await findAll(selection)),
    history: options.history,
    attempts: (id: string): Attempt[] => attempts.ofDelivery(id),
    /** How an endpoint has answered in its last 200 deliveries. */
    answersOf(endpointId: string): Kept<typeof answersSchema> {
      const recent = shown(find({ endpointId, limit: RECENT_DELIVERIES })).deliveries;
      const ended = recent
        .flatMap((delivery) => delivery.attempts)
        .filter(({ endedAtMs }) => endedAtMs !== null)
        .toSorted((left, right) => left.wallStartedAtMs - right.wallStartedAtMs);
      return { ...answerFigures(ended), attempts: ended.slice(-RECENT_ATTEMPTS) };
    },
    detail(id: string): DeliveryDetail | Refused {
      const [delivery, summary] = [deliveries.find(id), deliverySummaries.find(id)];
      if (delivery === undefined || summary === undefined) return noDelivery(id);
      const body = bodyOf(delivery);
      const judged = new Map(summary.attempts.map((attempt) => [attempt.number, attempt]));
      return {
        ok: true,
        summary,
        endpoint: endpoints.find(summary.endpointId),
        attempts: attempts.ofDelivery(id).flatMap((attempt) => {
          const known = judged.get(attempt.number);
          if (known === undefined) return [];
          return [{ ...attempt, ...known, sentBody: attempt.requestBody ?? body }];
        }),
      };
    },
    /** Sends the same event to the same endpoint again, as a new delivery; answers its id. */
    resend(id: string): { ok: true; id: string } | Refused {
      const found = get(id);
      if (!found.ok) return found;
      const target = endpointOf(found.delivery, ": register it again.");
      return target.ok ? { ok: true, id: emitter.resend(found.delivery) } : target;
    },
    /** An attempt as it would be made now, signed at this moment: its old signature has expired. */
    signAgain(id: string, number: number): { ok: true; request: AttemptRequest } | Refused {
      const found = get(id);
      if (!found.ok) return found;
      const { delivery } = found;
      const { attemptsMade } = delivery;
      if (number > attemptsMade)
        return refused(`${id} has no attempt ${number}: ${attemptsMade} were made so far.`, "not_found");
      const target = endpointOf(delivery, ", and its secret with it.");
      if (!target.ok) return target;
      const { endpoint } = target;
      const readings = options.readings();
      const request = attemptRequest({
        url: endpoint.url,
        body: bodyOf(delivery),
        secrets: signingSecrets(endpoint, now(), readings),
        number,
        wallNowMs: options.wallNowMs(),
        faults: faultsOnAttempt(delivery.faults, number),
        readings,
      });
      return { ok: true, request };
    },
    attemptNow(id: string): { ok: true } | Refused {
      const found = get(id);
      if (!found.ok) return found;
      const { delivery } = found;
      if (delivery.nextAttemptAtMs === null) {
        const why = delivery.state === "attempting" ? "its attempt is under way" : `it is ${delivery.state}`;
        return refused(`No attempt of ${id} is waiting: ${why}.`, "nothing_due");
      }
      deliveries.hurry(id, now());
      dispatcher.wake();
      return { ok: true };
    },
  };
}
