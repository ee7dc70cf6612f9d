import type { EventType } from "../../../shared/events.ts";
import { type Random, createRandom, stableId } from "../random.ts";
import type { Readings } from "../readings.ts";
import { type Conversation, OUTCOMES, converse } from "./conversation.ts";
import type { Item, ItemKind, Items } from "./items.ts";
import { merge } from "./merge.ts";
import { type WorldObject, createBooking, createCall, createOrder, createVoicemail } from "./objects.ts";
import type { Business, Language, Trade } from "./organizations.ts";
import type { Origins } from "./origins.ts";
import type { Topic } from "./phrases/phrases.ts";
import { withTransferForms } from "./transfer-forms.ts";

type Fields = Readonly<Record<string, unknown>>;

export type HappenOptions = {
  orgId?: string | undefined;
  /** Fields that replace the made-up ones. The id of something that exists makes the event be about that. */
  object?: Fields | undefined;
  /** The same for the call that goes along with a voicemail, an order or a booking. */
  call?: Fields | undefined;
};

export type Happening =
  | { ok: true; orgId: string; object: WorldObject; createdAtMs: number; call?: WorldObject }
  | { ok: false; message: string };

type Refusal = { ok: false; message: string };

/** Only a business of this trade sees the event (SPEC §6 Event types). */
const TRADE_OF: Partial<Record<EventType, Trade>> = {
  "order.created": "restaurant",
  "booking.created": "services",
};
const TRADE_NAMES = { restaurant: "a restaurant", services: "a service business" } as const;
const LANGUAGES: readonly Language[] = ["en", "es", "fr", "de", "it"];

/** Lets events happen in the world: a voicemail, an order or a booking comes with the call that brought it about. */
export function createHappenings(options: {
  seed: number;
  businesses: readonly Business[];
  items: Items;
  origins: Origins;
  show: (item: Item) => WorldObject;
  readings: () => Readings;
  nowMs: () => number;
  baseUrl: () => string;
}) {
  const { seed, businesses, items, origins, show, readings, nowMs, baseUrl } = options;

  function happen(type: EventType, settings: HappenOptions = {}): Happening {
    const business = chooseBusiness(businesses, type, settings.orgId);
    if ("ok" in business) return business;
    const overrides = settings.object ?? {};
    const callOverrides = isCallEvent(type) ? overrides : { ...alongside(overrides), ...settings.call };
    const objectKind = kindOf(type);
    const known = objectKind && existing(business, objectKind, overrides["id"]);
    const knownCall = existing(business, "call", callOverrides["id"]);
    const refusal = [known, knownCall].find((found) => found !== undefined && "ok" in found);
    if (refusal !== undefined && "ok" in refusal) return refusal;

    const createdAtMs = nowMs();
    const at = Math.floor(createdAtMs / 1000);
    const number = origins.nextHappening();
    const random = createRandom(seed, "happening", number);
    const conversation = converse({
      seed,
      random,
      business,
      at,
      ...plotOf(type, random, overrides, callOverrides),
    });
    const id = (prefix: string) => stableId(prefix, 16, seed, "happening", number);

    const draft = () => createCall({ business, conversation, at, id: id("call_"), baseUrl: baseUrl() });
    const call = keep(business, "call", at, callOverrides, knownCall, draft);
    const done = { ok: true, orgId: business.organization.id, createdAtMs, call } as const;
    if (isCallEvent(type)) return { ...done, object: call };

    const source = { business, conversation: matching(conversation, call), at, callId: String(call["id"]) };
    if (type === "voicemail.created") {
      const fresh = () => createVoicemail({ ...source, id: id("vm_"), reviewed: false, notes: null });
      return { ...done, object: keep(business, "voicemail", at, overrides, known, fresh) };
    }
    if (readings().order_and_booking_shape === "minimal") {
      return {
        ...done,
        object: withKind(merge({ object: type === "order.created" ? "order" : "booking" }, overrides)),
      };
    }
    const made =
      type === "order.created"
        ? createOrder({ ...source, id: id("order_") })
        : createBooking({ ...source, id: id("booking_") });
    return { ...done, object: withKind(merge(made, overrides)) };
  }

  /** The item that `id` names, if any; refused when it is something else or somebody else's. */
  function existing(business: Business, kind: ItemKind, id: unknown): Item | Refusal | undefined {
    if (id === undefined) return undefined;
    if (typeof id !== "string" || id === "") {
      return {
        ok: false,
        message: `The id of a ${kind} is a text that is not empty, not ${JSON.stringify(id)}.`,
      };
    }
    const item = items.find(id);
    if (item === undefined || (item.kind === kind && item.organization === business.number)) return item;
    const owner = businesses[item.organization]?.organization;
    return {
      ok: false,
      message: `${id} is a ${item.kind} of ${owner?.name} (${owner?.id}): choose another id, or that organization.`,
    };
  }

  /** Stores the object with its overrides, in the place of the known one if there is one, and returns it as it goes out. */
  function keep(
    business: Business,
    kind: ItemKind,
    at: number,
    overrides: Fields,
    known: Item | Refusal | undefined,
    draft: () => Fields,
  ): WorldObject {
    const before = known !== undefined && "id" in known ? known : undefined;
    const merged = withKind(merge(before === undefined ? draft() : show(before), overrides));
    const object = kind === "call" ? withTransferForms(merged, readings()) : merged;
    const item: Item = {
      organization: business.number,
      kind,
      createdAt: createdAtOf(object) ?? before?.createdAt ?? at,
      seq: before?.seq ?? origins.nextSeq(),
      facet: String(kind === "call" ? object["outcome"] : object["reviewed"]),
      id: String(object["id"]),
      origin: before?.origin ?? null,
      object: JSON.stringify(object),
    };
    if (before === undefined) items.add(item);
    else items.replace(item);
    return object;
  }

  return { happen };
}

function chooseBusiness(
  businesses: readonly Business[],
  type: EventType,
  orgId: string | undefined,
): Business | Refusal {
  const trade = TRADE_OF[type];
  const fitting = businesses.filter((business) => trade === undefined || business.trade === trade);
  const names = fitting.map(({ organization }) => `${organization.id} (${organization.name})`).join(", ");
  if (orgId === undefined) {
    const [first] = fitting;
    return first ?? { ok: false, message: `No organization sees ${type}.` };
  }
  const business = businesses.find(({ organization }) => organization.id === orgId);
  if (business === undefined) {
    return { ok: false, message: `There is no organization ${orgId}. Use one of ${names}.` };
  }
  if (trade === undefined || business.trade === trade) return business;
  return {
    ok: false,
    message:
      `${type} happens at ${TRADE_NAMES[trade]}, and ${business.organization.name} (${orgId}) is ` +
      `${TRADE_NAMES[business.trade]}. Use ${names}.`,
  };
}

function isCallEvent(type: EventType): boolean {
  return type === "call.completed" || type === "call.transferred";
}

function kindOf(type: EventType): ItemKind | undefined {
  if (isCallEvent(type)) return "call";
  return type === "voicemail.created" ? "voicemail" : undefined;
}

/** What the overrides of a voicemail, order or booking say about its call. */
function alongside({ call_id: id, phone, created_at: createdAt }: Fields): Fields {
  return {
    ...(id !== undefined && { id }),
    ...(phone !== undefined && { phone }),
    ...(createdAt !== undefined && { created_at: createdAt }),
  };
}

/** How a call goes that ends in an event of `type`; where overrides say something about it, the rest follows them. */
function plotOf(
  type: EventType,
  random: Random,
  overrides: Fields,
  callOverrides: Fields,
): { outcome: (typeof OUTCOMES)[number]; topic?: Topic; language?: Language | undefined } {
  const language = LANGUAGES.find((known) => known === callOverrides["detected_language"]);
  if (type === "voicemail.created") return { outcome: "voicemail", topic: "voicemail", language };
  if (type === "order.created") return { outcome: "completed", topic: "order", language };
  if (type === "booking.created") return { outcome: "completed", topic: "booking", language };
  const outcome =
    type === "call.transferred" || overrides["transferred"] === true
      ? "transferred"
      : (OUTCOMES.find((known) => known === overrides["outcome"]) ?? "completed");
  if (outcome === "voicemail") return { outcome, language };
  if (outcome === "transferred") {
    const failed = overrides["transfer_succeeded"] === false;
    return { outcome, topic: failed ? "failed_transfer" : "transfer", language };
  }
  // An order or a booking would have an event of its own.
  return {
    outcome,
    topic: random.weighted<Topic>([
      ["hours", 80],
      ["complaint", 20],
    ]),
    language,
  };
}

/** The conversation with the number of its call, which may be an overridden one or that of a call from earlier. */
function matching(conversation: Conversation, call: WorldObject): Conversation {
  const { phone } = call;
  if (typeof phone !== "string") return conversation;
  return { ...conversation, caller: { ...conversation.caller, phone } };
}

function createdAtOf(object: WorldObject): number | undefined {
  const { created_at: createdAt } = object;
  const ms = typeof createdAt === "string" ? Date.parse(createdAt) : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000);
}

/** An object always says what it is, even when somebody overrides that with something that is no text. */
function withKind(fields: Record<string, unknown>): WorldObject {
  const { object } = fields;
  return { ...fields, object: typeof object === "string" ? object : JSON.stringify(object ?? null) };
}
