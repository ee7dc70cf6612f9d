import type { Envelope } from "../../shared/events.ts";
import { attemptRequest } from "../domain/attempt-request.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Send } from "../domain/flights.ts";
import { faultyBody } from "../domain/fan-out.ts";
import { faultsOnAttempt, type Fault, type FaultName } from "../domain/faults.ts";
import { DEFAULT_READINGS } from "../domain/readings.ts";
import type { WallTime } from "../domain/wall-time.ts";

/** Faults that need a schedule, which one direct attempt has not. */
export const FAULTS_OF_THE_SCHEDULE: readonly FaultName[] = ["reorder", "delay"];

/** One attempt at an endpoint that the simulator knows nothing of, signed afresh, without retries. */
export function createDirectTarget(options: {
  url: string;
  secret: string;
  faults: readonly Fault[];
  send: Send;
  wall: WallTime;
  signal: AbortSignal;
}) {
  const { url, secret, send, wall, signal } = options;
  const faults = faultsOnAttempt(options.faults, 1);
  const readings = DEFAULT_READINGS;

  async function attempt(body: Buffer): Promise<Outcome> {
    const wallNowMs = wall.nowMs();
    const request = attemptRequest({ url, body, secrets: [secret], number: 1, wallNowMs, faults, readings });
    const { outcome } = await send({ ...request, faults, answerMeans: readings.answer_means, signal });
    return outcome;
  }

  /** Sends one envelope, twice where a fault says so; the outcome is that of the first attempt. */
  return async (envelope: Envelope): Promise<Outcome> => {
    const event = { type: envelope.type, body: Buffer.from(JSON.stringify(envelope)) };
    const body = faultyBody(event, faults) ?? event.body;
    const first = attempt(body);
    if (faults.has("duplicate-concurrently")) await attempt(body);
    const outcome = await first;
    if (faults.has("duplicate")) await attempt(body);
    return outcome;
  };
}
