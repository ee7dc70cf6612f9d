import { setTimeout as sleep } from "node:timers/promises";
import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import type { Send, SendRequest } from "../../domain/flights.ts";
import type { Outcome as AttemptOutcome } from "../../domain/outcome.ts";
import { requestBytes } from "../../sender/request-bytes.ts";
import { GENUINE } from "../../signature-recipe/recipe.ts";
import { type Exchange, idIn, type SentRequest } from "../delivery.ts";
import { openWire, type Outcome, type Target } from "../wire.ts";
import type { Fate, Schedule, Step } from "./schedule.ts";

/** One whole, genuine delivery that got through, and what the receiver said to it. */
export type Passage = { attempt: number; exchange: Exchange };

type Plan = {
  schedule: Schedule;
  attempts: number;
  passages: Passage[];
  copy: () => Promise<void>;
  underWay: Promise<unknown>[];
};

const SLOW_PIECES = 5;
const SLOW_PAUSE_MS = 8;

/**
 * The network between the service and a receiver, which does to each attempt what the event's schedule says: lets it
 * through, answers in the receiver's place, loses the answer, cuts the connection in the middle of the body.
 */
export function createNetwork(options: { target: Target; timeoutMs: number }) {
  const { target, timeoutMs } = options;
  const plans = new Map<string, Plan>();

  const send: Send = async (request) => {
    const startedAt = performance.now();
    const plan = plans.get(idIn(request.body));
    if (plan === undefined) throw new Error("there is no schedule for this event");
    plan.attempts += 1;
    const step = plan.schedule[plan.attempts - 1] ?? { fate: "2xx" };
    const work = play(request, step, plan, plan.attempts);
    plan.underWay.push(work);
    if (step.copy === "during") plan.underWay.push(plan.copy());
    if (step.copy === "after") plan.underWay.push(work.then(() => plan.copy()));
    return { outcome: await work, durationMs: performance.now() - startedAt };
  };

  async function play(
    { headers, body }: SendRequest,
    { fate, copy }: Step,
    { passages }: Plan,
    attempt: number,
  ): Promise<AttemptOutcome> {
    if (fate === "4xx") return { status: 404 };
    // Nothing is sent: the receiver sees no attempt, and nobody waits for the time-out.
    if (fate === "time-out") return { error: "timeout" };
    const sentHeaders = { ...headers, host: target.host };
    const sentAt = performance.now();
    const outcome = await forward(requestBytes({ url: target.url, headers: sentHeaders, body }), body, fate);
    if (fate === "reset") return { error: "reset" };
    const durationMs = performance.now() - sentAt;
    const request: SentRequest = {
      url: target.url,
      headers: Object.entries(sentHeaders),
      body,
      signature: { headerName: SIGNATURE_HEADER.toLowerCase(), recipe: GENUINE },
      httpVersion: "1.1",
      note: `Attempt ${attempt} of its schedule: ${fate}${copy === undefined ? "" : `, with a copy ${copy} it`}.`,
    };
    passages.push({ attempt, exchange: { eventId: idIn(body), request, outcome, durationMs } });
    if (fate === "late 2xx") return { error: "timeout" };
    if (fate === "5xx") return { status: 502 };
    return outcome.kind === "answered" ? { status: outcome.status } : { error: "closed" };
  }

  async function forward(bytes: Buffer, body: Buffer, fate: Fate): Promise<Outcome> {
    const wire = await openWire(target, timeoutMs);
    const headBytes = bytes.byteLength - body.byteLength;
    if (fate === "reset") {
      await wire.write(bytes.subarray(0, headBytes + body.byteLength / 2));
      wire.reset();
    } else if (fate === "slow body") {
      await wire.write(bytes.subarray(0, headBytes));
      const size = Math.ceil(body.byteLength / SLOW_PIECES);
      for (let from = headBytes; from < bytes.byteLength; from += size) {
        await wire.write(bytes.subarray(from, from + size));
        await sleep(SLOW_PAUSE_MS);
      }
    } else {
      await wire.write(bytes);
    }
    const outcome = await wire.answer();
    wire.close();
    return outcome;
  }

  return {
    /** Makes one attempt of the service. */
    send,
    /** Says what is to happen to an event; `copy` sends one more copy of it past the schedule. */
    plan(eventId: string, schedule: Schedule, copy: () => Promise<void>): void {
      plans.set(eventId, { schedule, copy, attempts: 0, passages: [], underWay: [] });
    },
    /** What got through of an event, once everything under way for it has ended. */
    async passagesOf(eventId: string): Promise<Passage[]> {
      const plan = plans.get(eventId);
      await Promise.all(plan?.underWay ?? []);
      return plan?.passages ?? [];
    },
  };
}
