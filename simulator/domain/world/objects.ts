import type { Booking, Call, Order, Voicemail } from "../../../shared/events.ts";
import type { Readings } from "../readings.ts";
import { timestamp } from "./calendar.ts";
import { type Conversation, dollars, totalCents } from "./conversation.ts";
import type { Business } from "./organizations.ts";

/** A resource as webhook and REST carry it. Users may override any field, so only its kind is certain. */
export type WorldObject = { [field: string]: unknown; object: string };

/** Makes the resources of SPEC §2 from a conversation; `at` is in Unix seconds. */
type Source = { business: Business; conversation: Conversation; at: number };

/** A call, with its transfer fields in their default forms. */
export function createCall(source: Source & { id: string; baseUrl: string }): Call {
  const { business, conversation } = source;
  const transferred = conversation.outcome === "transferred";
  return {
    object: "call",
    id: source.id,
    agent_id: (business.agents[conversation.agent] ?? business.agents[0]).id,
    phone: conversation.caller.phone,
    duration_sec: conversation.durationSeconds,
    outcome: conversation.outcome,
    transcript: conversation.transcript,
    recording_url: `${source.baseUrl}/recordings/${source.id}.mp3`,
    transferred,
    transfer_to: transferred ? business.staffPhone : null,
    transfer_succeeded: transferred ? conversation.transferSucceeded : null,
    detected_language: conversation.caller.language,
    created_at: timestamp(source.at),
  };
}

/** A call with its transfer fields in the forms of the readings; fields that have another form already stay. */
export function withTransferForms(call: WorldObject, readings: Readings): WorldObject {
  const { transfer_to: to, transfer_succeeded: succeeded } = call;
  const formed = { ...call };
  if (readings.transfer_to_form === "object" && typeof to === "string")
    formed["transfer_to"] = { type: "staff_line", phone_number: to };
  if (readings.transfer_succeeded_form === "string" && typeof succeeded === "boolean")
    formed["transfer_succeeded"] = succeeded ? "succeeded" : "failed";
  return formed;
}

export function createVoicemail(
  source: Source & { id: string; callId: string; reviewed: boolean; notes: string | null },
): Voicemail {
  const { conversation } = source;
  return {
    object: "voicemail",
    id: source.id,
    call_id: source.callId,
    phone: conversation.caller.phone,
    customer_name: conversation.caller.name,
    message_text: conversation.message,
    reason: conversation.reason,
    reviewed: source.reviewed,
    callback_made: source.notes !== null,
    notes: source.notes,
    created_at: timestamp(source.at),
  };
}

/** The other fields are invented: the service does not publish those of an order. */
export function createOrder(source: Confirmed): Order {
  const { conversation } = source;
  return {
    object: "order",
    ...confirmed(source),
    items: conversation.items.map(({ name, quantity, priceCents }) => ({
      name,
      quantity,
      unit_price: dollars(priceCents),
    })),
    total: dollars(totalCents(conversation.items)),
    currency: "USD",
    created_at: timestamp(source.at),
  };
}

/** The other fields are invented: the service does not publish those of a booking. */
export function createBooking(source: Confirmed): Booking {
  const { conversation } = source;
  return {
    object: "booking",
    ...confirmed(source),
    service: conversation.service,
    starts_at: timestamp(conversation.startsAt),
    duration_min: conversation.serviceMinutes,
    created_at: timestamp(source.at),
  };
}

export type Confirmed = Source & { id: string; call: WorldObject };

function confirmed({ id, call, conversation }: Confirmed) {
  return {
    id,
    call_id: call["id"],
    agent_id: call["agent_id"],
    customer_name: conversation.caller.name,
    phone: conversation.caller.phone,
    status: "confirmed",
  };
}

/** A place in a list, counted from 0. */
const PLACE = /^\d{1,3}$/;

/** `base` with `overrides`: objects merge by key, a list with an object of numbered keys by item, all else is replaced. */
export function merge(
  base: Readonly<Record<string, unknown>>,
  overrides: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const replaced = Object.entries(overrides).map(([key, value]): [string, unknown] => {
    const own = Object.hasOwn(base, key) ? base[key] : undefined;
    return [key, isPlainObject(value) ? mergedValue(own, value) : value];
  });
  // Spreading defines own properties, so that a key such as __proto__ stays a key.
  return { ...base, ...Object.fromEntries<unknown>(replaced) };
}

function mergedValue(own: unknown, value: Record<string, unknown>): unknown {
  if (isPlainObject(own)) return merge(own, value);
  const isByPlace = Array.isArray(own) && Object.keys(value).every((key) => PLACE.test(key));
  return isByPlace ? Object.values(merge(Object.fromEntries(own.entries()), value)) : value;
}

/** Why `overrides` cannot be merged into `base`: it names an item that a list of `base` does not have. */
export function placeProblem(
  base: Readonly<Record<string, unknown>>,
  overrides: Readonly<Record<string, unknown>>,
): string | undefined {
  for (const [field, list] of Object.entries(base)) {
    const given = overrides[field];
    const places = isPlainObject(given) ? Object.keys(given) : [];
    if (!Array.isArray(list) || !places.every((key) => PLACE.test(key))) continue;
    const missing = places.find((key) => Number(key) >= list.length);
    if (missing !== undefined)
      return `object.${field}.${missing}: the list has ${list.length} items, counted from 0. Give the whole list instead.`;
  }
  return undefined;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
