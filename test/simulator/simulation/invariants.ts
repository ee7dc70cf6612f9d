import assert from "node:assert/strict";
import { RETRY_DELAYS_SECONDS } from "../../../simulator/domain/retry-policy.ts";
import { verify } from "../../../shared/signature.ts";
import type { Attempt } from "../../../simulator/domain/attempts.ts";
import type { Delivery } from "../../../simulator/domain/deliveries.ts";
import type { Simulator } from "../../../simulator/verbs/simulator.ts";
import { allDeliveries, allEvents, openAttempts } from "../../helpers/records.ts";
import type { Wired } from "./network.ts";

/** The schedule of the specification, repeated here on purpose. */
const DELAYS_SECONDS = [60, 300, 1_800, 7_200, 43_200];
const SIX = 6;

/** A request on the wire, together with the attempt that was stored for it at that moment. */
export type Recorded = Wired & { deliveryId: string; number: number };

/** What the simulation knows about an endpoint, independently of the simulator. */
export type KnownEndpoint = { secret: string; isRemoved: boolean };

/** S1, S4: an attempt is stored before its request is sent, and the request is correct. Returns the attempt. */
export function checkSent(
  simulator: Simulator,
  wired: Wired,
  wire: ReadonlyMap<string, readonly Recorded[]>,
  secrets: string[],
): Recorded {
  const { headers, body } = wired.request;
  const signature = headers["x-service-signature"] ?? "";
  // Two deliveries of one event have the same signature: they are stored and sent in the order of their due times.
  const oldestFirst = openAttempts(simulator)
    .toReversed()
    .toSorted((one, other) => one.scheduledAtMs - other.scheduledAtMs);
  const open = oldestFirst.find(({ deliveryId, number }) => {
    const attempt = simulator.deliveries.attempts(deliveryId)[number - 1];
    const isOnTheWire = wire.get(deliveryId)?.some((sent) => sent.number === number) === true;
    return attempt?.requestHeaders["x-service-signature"] === signature && !isOnTheWire;
  });
  assert.ok(open, "S1: a request is on the wire that no open attempt stands for");

  const nowSeconds = Math.floor(wired.sentAtWallMs / 1000);
  const verification = verify({ headers: [signature], body, secrets, nowSeconds });
  assert.ok(verification.ok, "S4: a request does not verify at the moment of its sending");
  assert.equal(verification.timestampSeconds, nowSeconds, "S4: t is not the wall time of the attempt");
  const first = wire.get(open.deliveryId)?.[0];
  if (first) assert.ok(first.request.body.equals(body), "S4: an attempt has other bytes than the first");
  return { ...wired, ...open };
}

/** S1, S2, S3 and S5 for one delivery, at any moment between two steps. */
export function checkDelivery(
  simulator: Simulator,
  id: string,
  sent: readonly Recorded[],
  endpoints: ReadonlyMap<string, KnownEndpoint>,
): void {
  const delivery = simulator.deliveries.find(id);
  assert.ok(delivery, "S6: a delivery is gone");
  const attempts = simulator.deliveries.attempts(id);
  checkNumbers(attempts, sent);
  checkSchedule(delivery, attempts);
  checkState(delivery, attempts, endpoints.get(delivery.endpointId)?.isRemoved === true);
}

function checkNumbers(attempts: readonly Attempt[], sent: readonly Recorded[]): void {
  assert.ok(sent.length <= SIX, `S1: ${sent.length} attempts of one delivery on the wire`);
  assert.equal(
    new Set(sent.map(({ number }) => number)).size,
    sent.length,
    "S1: an attempt twice on the wire",
  );
  assert.deepEqual(
    attempts.map(({ number }) => number),
    attempts.map((_, index) => index + 1),
    "S1: attempts are not numbered from 1 on",
  );
  assert.ok(attempts.length >= sent.length, "S1: more requests on the wire than attempts on record");
  for (const { number, outcome } of sent) {
    const attempt = attempts[number - 1];
    if (attempt === undefined || attempt.endedAtMs === null || attempt.error === "interrupted") continue;
    const reported = attempt.httpStatus === null ? { error: attempt.error } : { status: attempt.httpStatus };
    assert.deepEqual(reported, outcome, "an attempt was reported with another end than it had");
  }
}

function checkSchedule(delivery: Delivery, attempts: readonly Attempt[]): void {
  for (const [index, attempt] of attempts.entries()) {
    assert.ok(attempt.startedAtMs >= attempt.scheduledAtMs, "S2: an attempt was made early");
    if (attempt.endedAtMs !== null)
      assert.ok(attempt.endedAtMs >= attempt.startedAtMs, "S2: time ran backwards");
    const previous = attempts[index - 1];
    if (previous === undefined) continue;
    assert.ok(previous.endedAtMs !== null, "S2: an attempt began before the one before it had ended");
    const dueMs = previous.endedAtMs + (DELAYS_SECONDS[index - 1] ?? Number.NaN) * 1000;
    assert.equal(attempt.scheduledAtMs, dueMs, `S2: attempt ${attempt.number} was due at another time`);
  }
  const last = attempts.at(-1);
  if (delivery.nextAttemptAtMs === null || last === undefined) return;
  const dueMs = (last.endedAtMs ?? Number.NaN) + (DELAYS_SECONDS[attempts.length - 1] ?? Number.NaN) * 1000;
  assert.equal(delivery.nextAttemptAtMs, dueMs, "S2: the next attempt is due at another time");
}

function checkState(delivery: Delivery, attempts: readonly Attempt[], isRemoved: boolean): void {
  const isSuccess = ({ httpStatus }: Attempt) =>
    httpStatus !== null && httpStatus >= 200 && httpStatus <= 299;
  const last = attempts.at(-1);
  assert.equal(delivery.attemptsMade, attempts.length, "S1: attempts are miscounted");
  assert.ok(
    attempts.slice(0, -1).every((attempt) => !isSuccess(attempt)),
    "S5: an attempt after a success",
  );
  assert.equal(
    delivery.state === "delivered",
    last !== undefined && isSuccess(last),
    "S3: delivered without a 2xx",
  );
  const isOver = last !== undefined && last.endedAtMs !== null && !isSuccess(last) && attempts.length === SIX;
  if (!isRemoved)
    assert.equal(delivery.state === "dead", isOver, "S5: dead before or not after six failures");
  if (delivery.state !== "attempting")
    assert.equal(delivery.nextAttemptAtMs, null, "S5: settled, and due again");
  const isInFlight = last !== undefined && last.endedAtMs === null;
  if (delivery.state === "attempting") {
    assert.equal(
      delivery.nextAttemptAtMs === null,
      isInFlight,
      "S6: a delivery neither waits nor is under way",
    );
  }
}

/** S6: a restart finds the same data, except that open attempts are now interrupted. */
export function snapshot(simulator: Simulator) {
  const deliveries = allDeliveries(simulator);
  return {
    endpoints: simulator.endpoints
      .list()
      .map(({ id, url, secret, eventTypes }) => ({ id, url, secret, eventTypes })),
    events: allEvents(simulator),
    attempts: deliveries.flatMap(({ id }) =>
      simulator.deliveries.attempts(id).map((attempt) => {
        const { number, scheduledAtMs, startedAtMs, httpStatus, requestHeaders } = attempt;
        const error = attempt.endedAtMs === null ? "interrupted" : attempt.error;
        return { id, number, scheduledAtMs, startedAtMs, httpStatus, error, requestHeaders };
      }),
    ),
    ids: deliveries.map(({ id }) => id),
  };
}

assert.deepEqual(RETRY_DELAYS_SECONDS.slice(1), DELAYS_SECONDS, "S2: the schedule is another one");
