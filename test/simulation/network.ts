import assert from "node:assert/strict";
import type { Receipt } from "../../receiver/intake/inbox.ts";
import { SIGNATURE_TOLERANCE_SECONDS } from "../../shared/limits.ts";
import { createRandom } from "../../simulator/domain/random.ts";
import type { Send, SendResult } from "../../simulator/domain/flights.ts";
import type { ReceiverProcess } from "./receiver-process.ts";
import type { Timeline } from "./timeline.ts";

const ATTEMPT_LIMIT_MS = 10_000;

/** What was once on the wire, so that it can be sent again by anybody who listened. */
export type Overheard = { signature: string; body: Buffer; eventId: string; isForged?: boolean };

/** What the receiver answers with, by what became of the delivery (the whole table is its intake's own). */
const STATUS: Readonly<Record<Receipt["kind"], number>> = {
  stored: 200,
  duplicate: 200,
  invalid_signature: 401,
  invalid_json: 400,
  invalid_event: 400,
  unavailable: 503,
};

/**
 * The way from the service to the receiver. It loses requests and answers, delays them and brings them twice, as the
 * seed says for each attempt of each event by itself, so that leaving one out changes no other.
 */
export function createNetwork(options: {
  seed: number;
  timeline: Timeline;
  isFaulty: () => boolean;
  intake: () => ReceiverProcess | undefined;
  onReceipt: (eventId: string, receipt: Receipt, acknowledged: boolean) => void;
  /** What went wrong where nobody waited for it. */
  fail: (error: unknown) => void;
}) {
  const { seed, timeline, fail } = options;
  const counts = new Map<string, number>();
  const overheard: Overheard[] = [];

  const deliver = async (one: Overheard, reachesSender: boolean): Promise<SendResult["outcome"]> => {
    const process = options.intake();
    if (!process || process.isDead()) return { error: "refused" };
    const nowMs = process.clock.clock.nowMs();
    const receipt = await process.deliver({
      signatures: [one.signature],
      body: one.body,
      trace: null,
    });
    if (!receipt) return { error: "reset" };
    checkVerdict(one, receipt, nowMs);
    options.onReceipt(one.eventId, receipt, reachesSender);
    return { status: STATUS[receipt.kind] };
  };

  const wait = async (ms: number): Promise<void> =>
    new Promise((resolve) => void timeline.service.after(ms, resolve));

  const send: Send = async ({ headers, body, signal }) => {
    const eventId = (JSON.parse(Buffer.from(body).toString()) as { id: string }).id;
    const number = (counts.get(eventId) ?? 0) + 1;
    counts.set(eventId, number);
    const one = { signature: headers["x-service-signature"] ?? "", body: Buffer.from(body), eventId };
    overheard.push(one);
    const random = createRandom(seed, "network", eventId, number);
    const startedAtMs = timeline.service.monotonicMs();
    const fate = options.isFaulty()
      ? random.weighted([
          ["arrives", 55],
          ["is lost", 12],
          ["answer is lost", 15],
          ["comes twice", 10],
          ["comes late", 8],
        ] as const)
      : "arrives";
    const travel = async (): Promise<SendResult["outcome"]> => {
      await wait(random.int(0, 200));
      if (fate === "is lost") return { error: "reset" };
      if (fate === "comes late") {
        // The service has given up by then, and the receiver does not know.
        wait(random.int(1_000, 60_000))
          .then(async () => deliver(one, false))
          .catch(fail);
        return { error: "timeout" };
      }
      if (fate === "comes twice") void deliver(one, false).catch(fail);
      const outcome = await deliver(one, fate !== "answer is lost");
      await wait(random.int(0, 200));
      return fate === "answer is lost" ? { error: "reset" } : outcome;
    };
    const outcome = await Promise.race([
      travel(),
      wait(ATTEMPT_LIMIT_MS).then((): SendResult["outcome"] => ({ error: "timeout" })),
      new Promise<SendResult["outcome"]>((resolve) =>
        signal.addEventListener("abort", () => resolve({ error: "interrupted" }), { once: true }),
      ),
    ]);
    return { outcome, durationMs: timeline.service.monotonicMs() - startedAtMs };
  };

  return {
    send,
    overheard,
    /** Somebody who listened sends a request again. */
    repeat: (one: Overheard): void => void deliver(one, false).catch(fail),
    /** Somebody without the secret sends a body of his own. */
    forge: (one: Overheard, body: Buffer): void =>
      void deliver({ ...one, body, isForged: true }, false).catch(fail),
  };
}

/** R2: what the service signed is taken within the tolerance, and whatever else there is never. */
function checkVerdict({ signature, isForged = false }: Overheard, { kind }: Receipt, nowMs: number): void {
  const signedAtSeconds = Number(/t=(\d+)/.exec(signature)?.[1]);
  const ageSeconds = Math.abs(Math.floor(nowMs / 1_000) - signedAtSeconds);
  const isRefused = kind === "invalid_signature";
  const mustBe = isForged || ageSeconds > SIGNATURE_TOLERANCE_SECONDS;
  assert.equal(isRefused, mustBe, `R2: ${kind} for ${signature} of ${String(ageSeconds)} s ago`);
}
