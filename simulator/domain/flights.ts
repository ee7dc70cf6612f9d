import { causeOf } from "./causes.ts";
import type { Attempts, OpenAttempt } from "./attempts.ts";
import { attemptRequest, type AttemptRequest } from "./attempt-request.ts";
import type { ScheduleClock } from "./clock.ts";
import type { Deliveries, DueDelivery } from "./deliveries.ts";
import { type Endpoint, signingSecrets } from "./endpoints.ts";
import { type FaultName, faultsOnAttempt } from "./faults.ts";
import type { Journal } from "./journal.ts";
import type { Readings } from "./readings.ts";
import type { EndedAttempt, Settle } from "./settlement.ts";
import type { WallTime } from "./wall-time.ts";
import type { Answer, Outcome } from "./outcome.ts";

/** The port to the network: makes one HTTP request and never rejects. */
export type Send = (request: SendRequest) => Promise<SendResult>;

export type SendRequest = Omit<AttemptRequest, "signatureTimestamp"> & {
  answerMeans: Readings["answer_means"];
  faults: ReadonlySet<FaultName>;
  signal: AbortSignal;
};

export type SendResult = { outcome: Outcome; durationMs: number; answer?: Answer | undefined };

export type Departure = { delivery: DueDelivery; endpoint: Endpoint };

type Flight = OpenAttempt & { delivery: DueDelivery; request: SendRequest };
type Landing = EndedAttempt & Flight & Omit<SendResult, "outcome">;

export type FlightParts = {
  deliveries: Deliveries;
  attempts: Attempts;
  clock: ScheduleClock;
  wall: WallTime;
  journal: Journal;
  readings: () => Readings;
  send: Send;
  transaction: <Result>(action: () => Result) => Result;
  /** Called in each transaction with the number of journal entries that follow it: stores the clock and the last entry. */
  remember: (entriesToCome: number) => void;
};

/** Attempts that end and begin in one turn of the event loop; the endpoint works on the others meanwhile. */
export const MOST_PER_TURN = 8;

/** The attempts under way. What ends and what begins in one turn of the event loop shares one transaction. */
export function createFlights(
  options: FlightParts & { settle: Settle; onLanding: () => void; signal: AbortSignal },
) {
  const { deliveries, attempts, clock, wall, journal, signal } = options;
  const underWay = new Set<Promise<void>>();
  const byEndpoint = new Map<string, number>();
  const landings: Landing[] = [];

  function take({ delivery, endpoint }: Departure): Flight {
    const number = delivery.attemptsMade + 1;
    const startedAtMs = clock.now();
    const readings = options.readings();
    const wallNowMs = wall.nowMs();
    const faults = faultsOnAttempt(delivery.faults, number);
    const [{ body }, { url }] = [delivery, endpoint];
    const secrets = signingSecrets(endpoint, startedAtMs, readings);
    const request = attemptRequest({ url, body, secrets, number, wallNowMs, faults, readings });
    deliveries.take(delivery);
    const row = attempts.open(delivery, {
      number,
      scheduledAtMs: delivery.dueAtMs,
      startedAtMs,
      wallStartedAtMs: wallNowMs,
      signatureTimestamp: request.signatureTimestamp,
      requestUrl: url,
      requestHeaders: request.headers,
      requestBody: request.body === body ? null : request.body,
    });
    const sent = { ...request, answerMeans: readings.answer_means, faults, signal };
    return { delivery, row, number, startedAtMs, request: sent };
  }

  function depart(flight: Flight): void {
    const { endpointId } = flight.delivery;
    byEndpoint.set(endpointId, (byEndpoint.get(endpointId) ?? 0) + 1);
    const returned = fly(flight).finally(() => underWay.delete(returned));
    underWay.add(returned);
  }

  async function fly(flight: Flight): Promise<void> {
    const { delivery, startedAtMs, request } = flight;
    const startedMs = wall.monotonicMs();
    const { outcome, durationMs, answer } = await options.send(request);
    // It ended when its outcome was known; reading the rest of the answer may have taken longer.
    const sinceEndMs = Math.max(0, Math.round(wall.monotonicMs() - startedMs - durationMs));
    const { endpointId } = delivery;
    byEndpoint.set(endpointId, (byEndpoint.get(endpointId) ?? 1) - 1);
    landings.push({
      ...flight,
      endedAtMs: Math.max(startedAtMs, clock.now() - sinceEndMs),
      outcome,
      durationMs,
      answer,
    });
    options.onLanding();
  }

  return {
    to: (endpointId: string): number => byEndpoint.get(endpointId) ?? 0,
    /** Whether an attempt is under way, or has ended and is not recorded yet. */
    any: (): boolean => underWay.size > 0 || landings.length > 0,
    turn(departures: readonly Departure[]): void {
      const landed = landings.splice(0, MOST_PER_TURN);
      if (landed.length === 0 && departures.length === 0) return;
      if (landings.length > 0) options.onLanding();
      // Recorded before it is sent, so that it counts even after a crash (at most six on the wire).
      const flights = options.transaction(() => {
        for (const landing of landed) {
          attempts.close(landing, landing);
          options.settle(landing);
        }
        const taken = departures.map(take);
        options.remember(landed.length + taken.length);
        return taken;
      });
      for (const landing of landed) {
        const { delivery, number } = landing;
        const isJudged = isJudgedAlready(landing);
        journal.write({ kind: "attempt.ended", deliveryId: delivery.id, number, isJudged });
      }
      for (const { delivery, number } of flights) {
        journal.write({ kind: "attempt.started", deliveryId: delivery.id, number });
      }
      for (const flight of flights) depart(flight);
    },
    /** Resolves when every attempt under way now has ended. */
    returned: async (): Promise<void> => void (await Promise.all(underWay)),
  };
}

/** Whether the verdict on a delivery stays the same: the receiver failed again for the same cause. */
function isJudgedAlready({ delivery, outcome }: Landing): boolean {
  return delivery.verdict === "not" && delivery.cause !== null && delivery.cause === causeOf(outcome);
}
