import { type Random, createNoise, createRandom } from "../random.ts";
import { createCalendar } from "./calendar.ts";
import { type Conversation, OUTCOMES, converse, outcomeAt } from "./conversation.ts";
import { createHistoryIds } from "./history-ids.ts";
import type { Item, ItemKind, Place } from "./items.ts";
import { type WorldObject, createCall, createVoicemail } from "./objects.ts";
import { type Business, TRADE_NAMES } from "./organizations.ts";

const DAY_SECONDS = 86_400;
const DAYS_MINIMUM = 90;
const DAYS_MAXIMUM = 1_095;
const CALLS_A_DAY = 40;
const DAYS_UNTIL_REVIEWED = 4;
const REVIEWED_BY_THEN = 0.9;
const REVIEWED_BEFORE = 0.3;

export type Origin = {
  seed: number;
  /** Calls of all organizations together. */
  calls: number;
  /** The end of the history, Unix seconds. */
  epoch: number;
};

export type History = ReturnType<typeof createHistory>;

/** When the history of `origin` starts: three months before its end, or more where there are many calls. */
export function historyStart(origin: Origin): number {
  const days = Math.ceil(origin.calls / TRADE_NAMES.length / CALLS_A_DAY);
  return origin.epoch - Math.min(DAYS_MAXIMUM, Math.max(DAYS_MINIMUM, days)) * DAY_SECONDS;
}

/** The past of every organization, computed and not stored: each call follows from the seed and its index (oldest first). */
export function createHistory(options: {
  origin: Origin;
  businesses: readonly Business[];
  baseUrl: () => string;
}) {
  const { origin, businesses, baseUrl } = options;
  const { seed } = origin;
  const ids = { call: createHistoryIds(seed, "call_"), voicemail: createHistoryIds(seed, "vm_") };
  const pasts = businesses.map((business) => {
    const time = createNoise(seed, "time", business.number);
    const outcome = createNoise(seed, "outcome", business.number);
    const reviewed = createNoise(seed, "reviewed", business.number);
    const count = shareOf(origin, business.number);
    let calendar: ReturnType<typeof createCalendar> | undefined;

    function createdAt(index: number): number {
      calendar ??= createCalendar({ ...business, start: historyStart(origin), end: origin.epoch });
      // One call in each of `count` equal shares of the whole: in order without sorting, and different in each world.
      return calendar.at((index + time(index)) / count);
    }

    function isReviewed(index: number, at: number): boolean {
      const isOld = at < origin.epoch - DAYS_UNTIL_REVIEWED * DAY_SECONDS;
      return reviewed(index) < (isOld ? REVIEWED_BY_THEN : REVIEWED_BEFORE);
    }

    return {
      count,
      createdAt,
      isReviewed,
      outcome: (index: number, at: number) => outcomeAt(outcome(index), business, at),
    };
  });

  function itemAt(organization: number, kind: ItemKind, index: number, facet?: string): Item | undefined {
    const past = pasts[organization];
    if (past === undefined || index < 0 || index >= past.count) return undefined;
    const createdAt = past.createdAt(index);
    const outcome = past.outcome(index, createdAt);
    if (kind === "voicemail" && outcome !== "voicemail") return undefined;
    const own = kind === "call" ? outcome : String(past.isReviewed(index, createdAt));
    if (facet !== undefined && facet !== own) return undefined;
    const id = ids[kind].encode(organization, index);
    return { organization, kind, createdAt, seq: index, facet: own, id, object: null };
  }

  return {
    find(id: string): Item | undefined {
      for (const kind of ["call", "voicemail"] as const) {
        const place = ids[kind].decode(id);
        const item = place && itemAt(place.organization, kind, place.index);
        if (item !== undefined) return item;
      }
      return undefined;
    },

    /** Items before `place`, the newest first. */
    *before(organization: number, kind: ItemKind, place: Place, facet?: string): Generator<Item, void> {
      const past = pasts[organization];
      const canMatch =
        kind === "voicemail" || facet === undefined || OUTCOMES.some((known) => known === facet);
      if (past === undefined || !canMatch) return;
      for (let index = countBefore(past, place) - 1; index >= 0; index -= 1) {
        const item = itemAt(organization, kind, index, facet);
        if (item !== undefined) yield item;
      }
    },

    show(item: Item): WorldObject {
      const business = businesses[item.organization];
      if (business === undefined) throw new Error(`${item.id} belongs to no organization.`);
      const { seq: index, createdAt: at } = item;
      const random = createRandom(seed, "call", business.number, index);
      const outcome = OUTCOMES.find((known) => known === item.facet) ?? "voicemail";
      const conversation = converse({ seed, random, business, at, outcome });
      const source = { business, conversation, at, id: item.id };
      if (item.kind === "call") return createCall({ ...source, baseUrl: baseUrl() });
      const reviewed = item.facet === "true";
      const notes = reviewed ? pickNotes(random, conversation) : null;
      return createVoicemail({ ...source, callId: ids.call.encode(business.number, index), reviewed, notes });
    },
  };
}

function countBefore(past: { count: number; createdAt: (index: number) => number }, place: Place): number {
  let [from, to] = [0, past.count];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const at = past.createdAt(middle);
    if (at < place.createdAt || (at === place.createdAt && middle < place.seq)) from = middle + 1;
    else to = middle;
  }
  return from;
}

function shareOf(origin: Origin, number: number): number {
  const extra = number < origin.calls % TRADE_NAMES.length ? 1 : 0;
  return Math.floor(origin.calls / TRADE_NAMES.length) + extra;
}

function pickNotes(random: Random, { caller }: Conversation): string | null {
  return random.weighted([
    [null, 50],
    [`Called ${caller.name} back, all settled.`, 30],
    ["Called back, no answer. Will try again tomorrow.", 20],
  ]);
}
