import assert from "node:assert/strict";
import type { Inbox, Receipt } from "../../receiver/intake/inbox.ts";
import { SIGNATURE_TOLERANCE_SECONDS } from "../../shared/signature.ts";
import type { Send, SendResult } from "../../simulator/domain/flights.ts";
import { createRandom, type Random } from "../../simulator/domain/random.ts";
import type { Timeline } from "./timeline.ts";

const ATTEMPT_LIMIT_MS = 10_000;
const STATUS: Readonly<Record<Receipt["kind"], number>> = {
  stored: 200,
  duplicate: 200,
  invalid_signature: 401,
  invalid_json: 400,
  invalid_event: 400,
  unavailable: 503,
};

/**
 * The network between service and receiver. It loses, delays and duplicates requests and answers. The seed decides this
 * for each attempt of each event separately, so that leaving one out changes no other.
 */
export function createNetwork(options: {
  seed: number;
  timeline: Timeline;
  isFaulty: () => boolean;
  /** One of the processes that take events; undefined if it does not listen. */
  inbox: (random: Random) => { inbox: Inbox; nowMs: number } | undefined;
  onReceipt: (eventId: string, receipt: Receipt) => void;
  fail: (error: unknown) => void;
}) {
  const { seed, timeline } = options;
  const counts = new Map<string, number>();
  const wait = async (ms: number): Promise<void> =>
    new Promise((resolve) => void timeline.service.after(ms, resolve));

  async function deliver(
    { signature, body, eventId }: { signature: string; body: Buffer; eventId: string },
    random: Random,
  ): Promise<SendResult["outcome"]> {
    const listening = options.inbox(random);
    if (!listening) return { error: "refused" };
    const receipt = await listening.inbox({ signatures: [signature], body });
    const t = Number(/^t=(\d+)/.exec(signature)?.[1]);
    const ageSeconds = Math.abs(Math.floor(listening.nowMs / 1_000) - t);
    assert.equal(
      receipt.kind !== "invalid_signature",
      ageSeconds <= SIGNATURE_TOLERANCE_SECONDS,
      `R2: ${eventId} is ${ageSeconds} s old and ${receipt.kind}`,
    );
    options.onReceipt(eventId, receipt);
    return { status: STATUS[receipt.kind] };
  }

  const send: Send = async ({ headers, body, signal }) => {
    const bytes = Buffer.from(body);
    const { id: eventId } = JSON.parse(bytes.toString()) as { id: string };
    const signature = headers["x-service-signature"] ?? "";
    const number = (counts.get(eventId) ?? 0) + 1;
    counts.set(eventId, number);
    const random = createRandom(seed, "network", eventId, number);
    const startedAtMs = timeline.service.monotonicMs();
    const arrives = async (): Promise<SendResult["outcome"]> =>
      deliver({ signature, body: bytes, eventId }, random).catch((error: unknown) => {
        options.fail(error);
        return { error: "reset" };
      });
    const fates: Record<string, [weight: number, () => Promise<SendResult["outcome"]>]> = {
      arrives: [60, arrives],
      "is lost": [12, async () => wait(ATTEMPT_LIMIT_MS).then(() => ({ error: "timeout" }))],
      "answer is lost": [15, async () => arrives().then(() => ({ error: "reset" }))],
      "comes twice": [
        13,
        async () => {
          const first = arrives();
          await wait(random.int(0, 20));
          await arrives();
          return first;
        },
      ],
    };
    const weights = Object.values(fates).map(([weight, fate]) => [fate, weight] as const);
    const fate = options.isFaulty() ? random.weighted(weights) : arrives;
    await wait(random.int(0, 300));
    const limit = wait(ATTEMPT_LIMIT_MS).then((): SendResult["outcome"] => ({ error: "timeout" }));
    const stopped = new Promise<SendResult["outcome"]>((resolve) =>
      signal.addEventListener("abort", () => resolve({ error: "interrupted" }), { once: true }),
    );
    const outcome = await Promise.race([fate(), limit, stopped]);
    return { outcome, durationMs: timeline.service.monotonicMs() - startedAtMs };
  };
  return send;
}
