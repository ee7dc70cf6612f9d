import { setTimeout as pause } from "node:timers/promises";
import { isSuccess } from "../domain/judgement.ts";
import {
  clockSchema,
  deliverySchema,
  listOf,
  type DeliveryShape,
  type DeliveryDetailShape,
} from "../domain/shapes.ts";
import { listPath, type ControlClient } from "./control-client.ts";
import { interruptible } from "./interrupt.ts";
import { type Output, timeText } from "./output.ts";

/** An endpoint has ten seconds to answer; many deliveries at once wait for each other. */
const LONGEST_WAIT_MS = 30_000;
const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
const MOST_LISTED = 1_000;

type Emitted = { events: readonly { id: string }[]; deliveries: readonly { id: string }[] };

/** Waits until the first attempt of each delivery has ended, 30 s at most; returns the deliveries as they are then. */
export function waitForFirstAttempts(
  client: ControlClient,
  { events, deliveries }: Emitted,
  output: Output,
): Promise<DeliveryShape[]> {
  const ids = new Set(deliveries.map(({ id }) => id));
  if (ids.size === 0) return Promise.resolve([]);
  const eventId = events.length === 1 ? events[0]?.id : undefined;
  const read = async () => ({ found: await findAll(), now: (await client.get("/clock", clockSchema)).now });
  return interruptible((signal) => untilFirstAttempts(read, { signal, output }));

  /** Newest first, page by page, until all are found; without those that were removed meanwhile. */
  async function findAll(): Promise<DeliveryShape[]> {
    const found = new Map<string, DeliveryShape>();
    for (let after: string | undefined; found.size < ids.size;) {
      const asked = { limit: MOST_LISTED, event_id: eventId, starting_after: after };
      const page = await client.get(listPath("/deliveries", asked), listOf(deliverySchema));
      for (const delivery of page.data) if (ids.has(delivery.id)) found.set(delivery.id, delivery);
      after = page.data.at(-1)?.id;
      if (page.data.length < MOST_LISTED) break;
    }
    return deliveries.flatMap(({ id }) => found.get(id) ?? []);
  }
}

/** Reads deliveries repeatedly until no first attempt is in progress, and returns the last result. */
export async function untilFirstAttempts(
  read: () => Promise<{ found: DeliveryShape[]; now: string }>,
  { signal, output }: { signal: AbortSignal; output: Output },
): Promise<DeliveryShape[]> {
  const deadlineMs = performance.now() + LONGEST_WAIT_MS;
  for (let pauseMs = SHORTEST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
    const { found, now } = await read();
    const waiting = found.filter((delivery) => isUnderWay(delivery, now)).length;
    if (waiting === 0 || signal.aborted || performance.now() > deadlineMs) {
      output.clearProgress();
      return found;
    }
    output.progress(`${found.length - waiting} of ${found.length} first attempts have ended`);
    await pause(pauseMs, undefined, { signal }).catch(() => {});
  }
}

function isUnderWay({ state, attempts: [first], next_attempt_at: due }: DeliveryShape, now: string): boolean {
  if (state !== "attempting") return false;
  return first === undefined ? due === null || due <= now : first.ended_at === null;
}

/** How the first attempt ended: a status, an error, or that it is due later or under way. */
export function firstResult({ attempts: [first], next_attempt_at: due }: DeliveryShape): string {
  if (first === undefined) return due === null ? "under way" : "later";
  return first.ended_at === null ? "under way" : String(first.http_status ?? first.error);
}

/** One attempt of a delivery: `[200] POST url [evt_…] attempt 1, 12 ms`, and the consequence of a failure. */
export function attemptLine(
  delivery: DeliveryShape,
  attempt: DeliveryShape["attempts"][number] | undefined,
  { url, id, output }: { url: string; id: string; output: Output },
): string {
  const result = String(attempt?.http_status ?? attempt?.error ?? firstResult(delivery));
  const shown = output.style(isSuccess(attempt?.http_status ?? 0) ? "green" : "red", `[${result}]`);
  const number = attempt === undefined ? "" : ` attempt ${attempt.number}`;
  const took = typeof attempt?.duration_ms === "number" ? `, ${attempt.duration_ms} ms` : "";
  return `${shown} POST ${url} [${id}]${number}${took}${consequence(delivery)}`;
}

function consequence({ state, next_attempt_at: nextAt }: DeliveryShape): string {
  if (state === "dead") return "; dead, no attempt is left";
  return nextAt === null ? "" : `; next at ${timeText(nextAt)}`;
}

export function countFirstResults(deliveries: readonly DeliveryShape[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const delivery of deliveries) {
    const result = firstResult(delivery);
    counts[result] = (counts[result] ?? 0) + 1;
  }
  return counts;
}

/** `38 × 200, 2 × timeout`. */
export function countsInWords(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([result, count]) => `${count} × ${result}`)
    .join(", ");
}

const SHOWN_LINES = 30;

type Answer = DeliveryDetailShape["attempts"][number]["answer"];

export function answerLines(answer: Answer | undefined): string[] {
  const text = answer?.body.trimEnd() ?? "";
  if (text === "") return [];
  const lines = text.split(/\r?\n/);
  const more = lines.length - SHOWN_LINES;
  return [
    ...lines.slice(0, SHOWN_LINES),
    ...(more > 0 ? [`… ${more} more lines: --json has them`] : []),
    ...(answer?.truncated === true ? ["… cut after 16 KiB"] : []),
  ];
}
