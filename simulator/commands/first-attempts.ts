import { setTimeout as pause } from "node:timers/promises";
import {
  clockSchema,
  deliverySchema,
  listOf,
  type DeliveryShape,
  type DeliveryDetailShape,
} from "../domain/shapes.ts";
import { listPath, type ControlClient } from "./control-client.ts";
import { interruptible } from "./interrupt.ts";
import type { Output } from "./output.ts";

/** An endpoint has ten seconds to answer; many deliveries at once wait for each other. */
const LONGEST_WAIT_MS = 30_000;
const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
const MOST_LISTED = 1_000;

type Emitted = { events: readonly { id: string }[]; deliveries: readonly { id: string }[] };

/**
 * Waits until the first attempt of each delivery has ended, half a minute at most, and answers the deliveries as they are
 * then, in their order: without an attempt where it is due later, or where Ctrl-C ended the wait.
 */
export function waitForFirstAttempts(
  client: ControlClient,
  { events, deliveries }: Emitted,
  output: Output,
): Promise<DeliveryShape[]> {
  const ids = new Set(deliveries.map(({ id }) => id));
  if (ids.size === 0) return Promise.resolve([]);
  const eventId = events.length === 1 ? events[0]?.id : undefined;
  return interruptible(async (signal) => {
    const deadlineMs = performance.now() + LONGEST_WAIT_MS;
    let pauseMs = SHORTEST_PAUSE_MS;
    for (;;) {
      const found = await findAll();
      const { now } = await client.get("/clock", clockSchema);
      const waiting = found.filter((delivery) => isUnderWay(delivery, now)).length;
      if (waiting === 0 || signal.aborted || performance.now() > deadlineMs) return found;
      output.progress(`${found.length - waiting} of ${found.length} first attempts have ended`);
      await pause(pauseMs, undefined, { signal }).catch(() => {});
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    }
  }).finally(() => output.clearProgress());

  /** Newest first, page by page, until all are there; those that were forgotten meanwhile are left out. */
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

/** Whether its first attempt runs now, or is to begin at once. */
function isUnderWay({ state, attempts: [first], next_attempt_at: due }: DeliveryShape, now: string): boolean {
  if (state !== "attempting") return false;
  return first === undefined ? due === null || due <= now : first.ended_at === null;
}

/** How the first attempt ended: a status, a word for what went wrong, or that it is due later or still runs. */
export function firstResult({ attempts: [first], next_attempt_at: due }: DeliveryShape): string {
  if (first === undefined) return due === null ? "under way" : "later";
  return first.ended_at === null ? "under way" : String(first.http_status ?? first.error);
}

/** How many first attempts ended how. */
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

/** Maximum number of lines that are shown of an answer's body; `--json` has all of it. */
const SHOWN_LINES = 30;

type Answer = DeliveryDetailShape["attempts"][number]["answer"];

/** The first lines of the body that a receiver answered with, for a terminal. */
export function answerLines(answer: Answer | undefined): string[] {
  const text = answer?.body.trimEnd() ?? "";
  if (text === "") return [];
  const lines = text.split(/\r?\n/);
  const more = lines.length - SHOWN_LINES;
  return [
    ...lines.slice(0, SHOWN_LINES),
    ...(more > 0 ? [`… ${more} more lines: --json has them`] : []),
    ...(answer?.truncated === true ? ["… and what came after 16 KiB, which is not kept"] : []),
  ];
}
