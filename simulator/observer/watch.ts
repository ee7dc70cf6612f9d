import { z } from "zod";
import type { Deliveries } from "../domain/deliveries.ts";
import type { Attempts } from "../domain/attempts.ts";
import type { Journal } from "../domain/journal.ts";
import type { Verdicts } from "../domain/verdicts.ts";
import type { WallTime } from "../domain/wall-time.ts";
import type { Observer } from "./observer.ts";

/** When the receiver is asked, after the end of an attempt: soon, and again later, in case it handles the event twice. */
const LOOKS_MS = [60, 300, 1_000, 3_000, 8_000, 20_000] as const;
/** After this, an event handled once is no longer checked. */
const LATE_ENOUGH_MS = 3_000;
/** Maximum number of events observed at a time; others are not observed. */
const MOST_FOLLOWED = 2_000;
const MOST_AT_ONCE = 8;

const idSchema = z.looseObject({ id: z.string() });

type Followed = { deliveryId: string; eventId: string; endpointId: string; look: number; cancel: () => void };

/** Asks the receiver for the state of each event that may have reached it, for 20 s at most, and records it. Returns a function that stops it. */
export function watchHandling(options: {
  observer: Observer;
  endpointId?: string | undefined;
  journal: Pick<Journal, "watch">;
  deliveries: Deliveries;
  attempts: Attempts;
  verdicts: Pick<Verdicts, "record">;
  wall: WallTime;
}): () => void {
  const { observer, journal, deliveries, attempts, verdicts, wall } = options;
  const followed = new Map<string, Followed>();
  const waiting: Followed[] = [];
  const stopping = new AbortController();
  let asking = 0;

  const stopWatching = journal.watch((entry) => {
    if (entry.kind === "reset") return forgetAll();
    if (entry.kind === "attempt.ended") follow(entry.deliveryId, entry.number);
  });

  function follow(deliveryId: string, number: number): void {
    const delivery = deliveries.find(deliveryId);
    const attempt = attempts.summariesOf([deliveryId]).get(deliveryId)?.[number - 1];
    if (delivery === undefined || attempt === undefined) return;
    const { eventId, endpointId } = delivery;
    const isOurs = options.endpointId === undefined || options.endpointId === endpointId;
    const mayHaveArrived = attempt.error !== "dns" && attempt.error !== "refused";
    if (!isOurs || !mayHaveArrived) return;
    const key = `${eventId} ${endpointId}`;
    followed.get(key)?.cancel();
    if (!followed.has(key) && followed.size >= MOST_FOLLOWED) return;
    const one: Followed = { deliveryId, eventId, endpointId, look: 0, cancel: () => {} };
    followed.set(key, one);
    lookLater(one);
  }

  function lookLater(one: Followed): void {
    const delayMs = (LOOKS_MS[one.look] ?? 0) - (LOOKS_MS[one.look - 1] ?? 0);
    one.cancel = wall.after(delayMs, () => {
      waiting.push(one);
      askNext();
    });
  }

  function askNext(): void {
    while (asking < MOST_AT_ONCE && waiting.length > 0) {
      const one = waiting.shift();
      if (one === undefined || !isFollowed(one)) continue;
      asking += 1;
      void ask(one).finally(() => {
        asking -= 1;
        askNext();
      });
    }
  }

  async function ask(one: Followed): Promise<void> {
    const { eventId, endpointId } = one;
    const reading = await observer(sentId(one), stopping.signal);
    // Meanwhile another attempt may be followed, or the event removed.
    if (stopping.signal.aborted || !isFollowed(one)) return;
    const isLast = one.look === LOOKS_MS.length - 1;
    const handled = reading.known ? reading.count : 0;
    const isGivenUp = reading.known && (reading.state === "dead" || reading.isIgnored === true);
    const isSettled = isLast || isGivenUp || (handled > 0 && (LOOKS_MS[one.look] ?? 0) >= LATE_ENOUGH_MS);
    if (reading.known) {
      const { duplicates = null, state = null } = reading;
      verdicts.record(eventId, endpointId, { handled, duplicates, state, isSettled });
    }
    if (isSettled) {
      followed.delete(`${eventId} ${endpointId}`);
      return;
    }
    one.look += 1;
    lookLater(one);
  }

  /** The id in the sent body, which may differ from the event's under a reading. */
  function sentId({ deliveryId, eventId }: Followed): string {
    const body = deliveries.find(deliveryId)?.body;
    return body ? idSchema.parse(JSON.parse(body.toString())).id : eventId;
  }

  function isFollowed(one: Followed): boolean {
    return followed.get(`${one.eventId} ${one.endpointId}`) === one;
  }

  function forgetAll(): void {
    for (const { cancel } of followed.values()) cancel();
    followed.clear();
    waiting.length = 0;
  }

  return () => {
    stopWatching();
    stopping.abort();
    forgetAll();
  };
}
