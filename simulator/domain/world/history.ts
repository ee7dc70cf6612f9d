import { type Random, createRandom, stableId } from "../random.ts";
import { busyMoments } from "./calendar.ts";
import { type Conversation, OUTCOMES, converse, pickOutcome } from "./conversation.ts";
import type { Item } from "./items.ts";
import { type WorldObject, createCall, createVoicemail } from "./objects.ts";
import type { Business } from "./organizations.ts";

const DAY_SECONDS = 86_400;
const DAYS_MINIMUM = 90;
const DAYS_MAXIMUM = 1_095;
const CALLS_A_DAY = 40;
const PROGRESS_EVERY = 10_000;
const DAYS_UNTIL_REVIEWED = 4;

/** What the whole history follows from. */
export type Origin = {
  seed: number;
  /** Calls of all organizations together. */
  calls: number;
  organizations: number;
  /** The end of the history, Unix seconds. */
  epoch: number;
};

/** When the history of `origin` starts: three months before its end, or more where there are many calls. */
export function historyStart(origin: Origin): number {
  const days = Math.ceil(origin.calls / origin.organizations / CALLS_A_DAY);
  return origin.epoch - Math.min(DAYS_MAXIMUM, Math.max(DAYS_MINIMUM, days)) * DAY_SECONDS;
}

/**
 * Every call and voicemail of the past, organization by organization and oldest first, as rows without their fields:
 * those are made when somebody looks (`historicObject`), so that a million calls need no more than their ids and times.
 */
export function* createHistory(options: {
  origin: Origin;
  businesses: readonly Business[];
  onProgress?: ((done: number, total: number) => void) | undefined;
}): Generator<Item> {
  const { origin, businesses, onProgress } = options;
  let seq = 0;
  let done = 0;
  for (const business of businesses) {
    const random = createRandom(origin.seed, "history", business.number);
    const count = shareOf(origin, business.number);
    const moments = busyMoments({
      ...business,
      random,
      start: historyStart(origin),
      end: origin.epoch,
      count,
    });
    const { number: organization } = business;
    // Kept for after the calls: what comes in the order of its table is stored fastest.
    const voicemails: Item[] = [];
    let index = 0;
    for (const createdAt of moments) {
      const common = { organization, createdAt, origin: index, object: null };
      const outcome = pickOutcome(random, business, createdAt);
      seq += 1;
      yield { ...common, seq, kind: "call", facet: outcome, id: callId(origin.seed, organization, index) };
      if (outcome === "voicemail") {
        const isOld = createdAt < origin.epoch - DAYS_UNTIL_REVIEWED * DAY_SECONDS;
        const reviewed = random.chance(isOld ? 0.95 : 0.3);
        const id = stableId("vm_", 16, origin.seed, `history ${organization}`, index);
        seq += 1;
        voicemails.push({ ...common, seq, kind: "voicemail", facet: String(reviewed), id });
      }
      index += 1;
      done += 1;
      if (done % PROGRESS_EVERY === 0 || done === origin.calls) onProgress?.(done, origin.calls);
    }
    yield* voicemails;
  }
}

/** The fields of a call or voicemail of the history, the same every time. */
export function historicObject(options: {
  seed: number;
  business: Business;
  item: Item;
  origin: number;
  baseUrl: string;
}): WorldObject {
  const { seed, business, item } = options;
  const random = createRandom(seed, "call", business.number, options.origin);
  const outcome = OUTCOMES.find((known) => known === item.facet) ?? "voicemail";
  const conversation = converse({ seed, random, business, at: item.createdAt, outcome });
  const source = { business, conversation, at: item.createdAt, id: item.id };
  if (item.kind === "call") return createCall({ ...source, baseUrl: options.baseUrl });
  const reviewed = item.facet === "true";
  return createVoicemail({
    ...source,
    callId: callId(seed, business.number, options.origin),
    reviewed,
    notes: reviewed ? pickNotes(random, conversation) : null,
  });
}

function shareOf(origin: Origin, number: number): number {
  const extra = number < origin.calls % origin.organizations ? 1 : 0;
  return Math.floor(origin.calls / origin.organizations) + extra;
}

function callId(seed: number, organization: number, index: number): string {
  return stableId("call_", 16, seed, `history ${organization}`, index);
}

function pickNotes(random: Random, { caller }: Conversation): string | null {
  return random.weighted([
    [null, 50],
    [`Called ${caller.name} back, all settled.`, 30],
    ["Called back, no answer. Will try again tomorrow.", 20],
  ]);
}
