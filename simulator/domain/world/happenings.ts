import type { EventType } from "../../../shared/events.ts";
import { createRandom, stableId } from "../random.ts";
import type { Readings } from "../readings.ts";
import { type Caller, callerOf } from "./callers.ts";
import { converse } from "./conversation.ts";
import { EVENT_KINDS } from "./event-types.ts";
import { FIRST_STORED_SEQ, isA, type Item, type ItemKind, type Items } from "./items.ts";
import {
  createCall,
  createVoicemail,
  merge,
  placeProblem,
  withTransferForms,
  type WorldObject,
} from "./objects.ts";
import { type Business, chooseBusiness } from "./organizations.ts";
import { LANGUAGES } from "./phrases/phrases.ts";
import type { Timeline } from "./timeline.ts";
import { type Refused, refused } from "../refused.ts";

type Fields = Readonly<Record<string, unknown>>;

export type HappenOptions = {
  orgId?: string | undefined;
  /** Fields that replace the generated ones. With the id of an existing object, the event is about that. */
  object?: Fields | undefined;
  /** The caller; generated if neither this nor the fields name one. */
  caller?: Partial<Caller> | undefined;
  /** Its call has not ended, so no list has it yet. A listed call stays listed. */
  callGoesOn?: boolean;
};

/** `call` is the call that ends with this event: the object itself where the event is about a call. */
export type Happened = {
  ok: true;
  orgId: string;
  object: WorldObject;
  createdAtMs: number;
  call: WorldObject;
  itemIds: string[];
};

export type HappenResult = Happened | Refused;

type Found = { ok: true; item: Item | undefined } | Refused;

/** Makes events happen in the world: a voicemail, an order or a booking comes with its call. */
export function createHappen(options: {
  seed: number;
  businesses: readonly Business[];
  items: Items;
  timeline: Timeline;
  nextHappening: () => number;
  show: (item: Item) => WorldObject;
  readings: () => Readings;
  nowMs: () => number;
  baseUrl: () => string;
}) {
  const { seed, businesses, items, timeline, nextHappening, show, readings, nowMs, baseUrl } = options;

  return function happen(type: EventType, settings: HappenOptions = {}): HappenResult {
    const { trade, item, create, amend, ending } = EVENT_KINDS[type];
    const chosen = chooseBusiness(businesses, { type, trade, orgId: settings.orgId });
    if (!chosen.ok) return chosen;
    const { business } = chosen;
    const overrides = settings.object ?? {};
    const voicemail: Found =
      item === "voicemail" ? existing(business, "voicemail", overrides["id"]) : { ok: true, item: undefined };
    if (!voicemail.ok) return voicemail;
    const callOverrides =
      item === "call" ? overrides : aboutCall(overrides, voicemail.item && show(voicemail.item));
    const call = existing(business, "call", callOverrides["id"]);
    if (!call.ok) return call;

    const createdAtMs = nowMs();
    const at = Math.floor(createdAtMs / 1000);
    const number = nextHappening();
    const random = createRandom(seed, "happening", number);
    const knownCall = call.item && show(call.item);
    const gained = knownCall === undefined ? undefined : amend?.(knownCall, business);
    const changes = { ...gained, ...callOverrides };
    const facts = { ...knownCall, ...changes };
    const who = callerIn(business, { ...settings, object: overrides, call: facts });
    const conversation = converse({ seed, random, business, at, ...ending(facts, random), ...who });
    const id = (prefix: string) => stableId(prefix, 16, { seed, purpose: "happening", index: number });

    const made = { business, at, number };
    const isOpen = settings.callGoesOn === true && call.item?.kind !== "call";
    const keptCall = keep(
      isOpen ? "open call" : "call",
      { ...made, overrides: changes, known: call.item },
      () => createCall({ business, conversation, at, id: id("call_"), baseUrl: baseUrl() }),
    );
    const itemIds = [String(keptCall["id"])];
    const orgId = business.organization.id;
    const result = { ok: true, orgId, createdAtMs, call: keptCall, itemIds } as const;
    if (item === "call") return { ...result, object: keptCall };

    const source = { business, conversation, at, call: keptCall };
    if (item === "voicemail") {
      const callId = String(keptCall["id"]);
      const draft = () => createVoicemail({ ...source, id: id("vm_"), callId, reviewed: false, notes: null });
      const object = keep("voicemail", { ...made, overrides, known: voicemail.item }, draft);
      return { ...result, object, itemIds: [...itemIds, String(object["id"])] };
    }
    if (create === undefined) throw new Error(`The object of a ${type} cannot be made.`);
    const { object, ...fields } = create({ ...source, id: id(`${type.split(".")[0]}_`) });
    const shown = isMinimal() ? { object } : { object, ...fields };
    const problem = placeProblem(shown, overrides);
    if (problem !== undefined) return refused(problem);
    return { ...result, object: withKind(merge(shown, overrides)) };
  };

  /** The caller by the object, its call or `caller`: the same number is the same person. */
  function callerIn(
    business: Business,
    made: { object: Fields; call: Fields; caller?: Partial<Caller> | undefined },
  ) {
    const { object, call, caller = {} } = made;
    const phone = [call["phone"], object["phone"], caller.phone].find((given) => typeof given === "string");
    const known = phone === undefined ? undefined : callerOf({ seed, business, phone });
    const spoken = LANGUAGES.find((language) => language === call["detected_language"]);
    return {
      caller: known,
      language: spoken ?? caller.language ?? known?.language,
      callerName: [object["customer_name"], caller.name].find((given) => typeof given === "string"),
    };
  }

  function isMinimal(): boolean {
    return readings().order_and_booking_shape === "minimal";
  }

  /** The item with the id `id`, if any; refused if it is of another kind or another organization's. */
  function existing(business: Business, kind: ItemKind, id: unknown): Found {
    if (id === undefined) return { ok: true, item: undefined };
    if (typeof id !== "string" || id === "")
      return refused(`The id of a ${kind} must be a text that is not empty, not ${JSON.stringify(id)}.`);
    const item = timeline.find(id);
    if (item === undefined || (isA(kind, item) && item.organization === business.number))
      return { ok: true, item };
    const owner = businesses[item.organization]?.organization;
    const fix = isA(kind, item)
      ? `use that organization or another id`
      : `use the id of a ${kind}, or a new one`;
    return refused(`${id} is a ${item.kind} of ${owner?.name} (${owner?.id}): ${fix}.`);
  }

  /** Stores an object with its overrides, replaces a known one, and returns it as it is sent. */
  function keep(
    kind: Item["kind"],
    made: { business: Business; at: number; number: number; overrides: Fields; known: Item | undefined },
    draft: () => Fields,
  ): WorldObject {
    const { business, at, number, overrides, known } = made;
    const merged = withKind(merge(known === undefined ? draft() : show(known), overrides));
    const object = kind === "voicemail" ? merged : withTransferForms(merged, readings());
    items.put({
      organization: business.number,
      kind,
      createdAt: createdAtOf(object) ?? known?.createdAt ?? at,
      seq: known?.seq ?? FIRST_STORED_SEQ + number,
      facet: inWords(object[kind === "voicemail" ? "reviewed" : "outcome"]),
      id: inWords(object["id"]),
      object: JSON.stringify(object),
    });
    return object;
  }
}

function aboutCall(overrides: Fields, known: Fields = {}): Fields {
  const { call_id: id = known["call_id"], phone, created_at: createdAt } = overrides;
  return {
    ...(id !== undefined && { id }),
    ...(phone !== undefined && { phone }),
    ...(createdAt !== undefined && { created_at: createdAt }),
  };
}

function createdAtOf(object: WorldObject): number | undefined {
  const { created_at: createdAt } = object;
  const ms = typeof createdAt === "string" ? Date.parse(createdAt) : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000);
}

/** The kind of an object, even if it is overridden with something other than text. */
function withKind(fields: Record<string, unknown>): WorldObject {
  return { ...fields, object: inWords(fields["object"]) };
}

/** A text unchanged, any other value as JSON: an override may be any value. */
function inWords(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
