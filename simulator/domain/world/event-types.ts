import { type Envelope, type EventType, isEventType } from "../../../shared/events.ts";
import type { Random } from "../random.ts";
import type { Outcome } from "./conversation.ts";
import type { ItemKind } from "./items.ts";
import { type Confirmed, createBooking, createOrder } from "./objects.ts";
import type { Business } from "./organizations.ts";
import type { Topic } from "./phrases/phrases.ts";
import type { Trade } from "./trades.ts";

type Fields = Readonly<Record<string, unknown>>;

type CallEnding = { outcome: Outcome; topic?: Topic };

/** How one event type happens in the simulated world, and what its event contains. */
type EventKind = {
  /** The only trade that has it (SPEC §6 Event types); every business, if absent. */
  trade?: Trade;
  /** How many of a hundred calls of the generated traffic end in it, at a business of that trade. */
  share: Readonly<Partial<Record<Trade, number>>>;
  /** The REST list of its object: calls or voicemails; null if there is none. */
  item: ItemKind | null;
  /** The object of an event without a list, made from its call. */
  create?: (source: Confirmed) => { [field: string]: unknown; object: string };
  /** The outcome of the call; `call` has its known fields. */
  ending: (call: Fields, random: Random) => CallEnding;
  /** Fields that the event changes in an ended call. */
  amend?: (call: Fields, business: Business) => Fields;
  /** A line about the event; any field of `object` may be missing or have any form. */
  sentence: (object: Fields, who: string) => [what: string, detail?: string | undefined];
};

/** Every event type: a new one in `shared/events.ts` needs its entry here, and nothing else in the simulator. */
export const EVENT_KINDS: Readonly<Record<EventType, EventKind>> = {
  "call.completed": {
    share: { restaurant: 34, services: 36 },
    item: "call",
    ending: completedEnding,
    sentence: (call, who) => [
      `${who} called`,
      [outcomeWords(call["outcome"]), spokenTime(call["duration_sec"])].filter(Boolean).join(", "),
    ],
  },
  "call.transferred": {
    share: { restaurant: 12, services: 14 },
    item: "call",
    ending: transferEnding,
    amend: (call, { staffPhone }) =>
      call["transferred"] === true
        ? {}
        : { outcome: "transferred", transferred: true, transfer_to: staffPhone, transfer_succeeded: true },
    sentence: (call, who) => [
      `${who} was ${transferWords(call["transfer_succeeded"])} the staff line`,
      spokenTime(call["duration_sec"]),
    ],
  },
  "voicemail.created": {
    share: { restaurant: 12, services: 12 },
    item: "voicemail",
    ending: () => ({ outcome: "voicemail" }),
    amend: (call) => (call["outcome"] === "completed" ? { outcome: "voicemail" } : {}),
    sentence: (voicemail, who) => [`${who} left a voicemail`, textOf(voicemail["message_text"])],
  },
  "order.created": {
    trade: "restaurant",
    share: { restaurant: 42 },
    item: null,
    create: createOrder,
    ending: () => ({ outcome: "completed", topic: "order" }),
    sentence: (order, who) => [`${who} ordered${itemNames(order["items"])}`, price(order)],
  },
  "booking.created": {
    trade: "services",
    share: { services: 38 },
    item: null,
    create: createBooking,
    ending: () => ({ outcome: "completed", topic: "booking" }),
    sentence: (booking, who) => [
      `${who} booked ${textOf(booking["service"]) ?? "an appointment"}`,
      isoMoment(booking["starts_at"]),
    ],
  },
};

function completedEnding(call: Fields, random: Random): CallEnding {
  const { outcome } = call;
  if (outcome === "transferred" || call["transferred"] === true) return transferEnding(call);
  if (outcome === "voicemail") return { outcome };
  // An order or a booking would emit its own event.
  const topic = random.among<Topic>({ hours: 80, complaint: 20 });
  return { outcome: "completed", topic };
}

function transferEnding(call: Fields): CallEnding {
  const hasFailed = call["transfer_succeeded"] === false;
  return { outcome: "transferred", topic: hasFailed ? "failed_transfer" : "transfer" };
}

const LONGEST_CHARACTERS = 120;

/** One line of plain text about an event: `Ada Lovelace left a voicemail · I lost my jacket`. Any field may be missing. */
export function eventSummary({ type, data: { object } }: Pick<Envelope, "type" | "data">): string {
  const who = textOf(object["customer_name"]) ?? textOf(object["phone"]) ?? "Somebody";
  const [what, detail] = isEventType(type)
    ? EVENT_KINDS[type].sentence(object, who)
    : [type, textOf(object["id"])];
  const text = [what, detail].filter(Boolean).join(" · ").replaceAll(/\s+/g, " ").trim();
  return text.length <= LONGEST_CHARACTERS ? text : `${shortened(text)}…`;
}

function shortened(line: string): string {
  return Array.from(line.slice(0, LONGEST_CHARACTERS)).slice(0, -1).join("").trimEnd();
}

/** Fields of events in words; a field that is missing or has another form is left out. */

const MOMENT = new Intl.DateTimeFormat("en-US", {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  timeZone: "UTC",
});

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

export function outcomeWords(outcome: unknown): string | undefined {
  return outcome === "voicemail" ? "left a voicemail" : textOf(outcome);
}

export function transferWords(succeeded: unknown): string {
  return succeeded === false || succeeded === "failed" ? "not put through to" : "put through to";
}

/** `3 min 5 s` of seconds. */
export function spokenTime(seconds: unknown): string | undefined {
  if (typeof seconds !== "number" || !(seconds >= 0)) return undefined;
  const rest = `${Math.floor(seconds % 60)} s`;
  return seconds < 60 ? rest : `${Math.floor(seconds / 60)} min ${rest}`;
}

/** ` 2 Margherita, Tiramisù`, with a space before it; empty where nothing has a name. */
export function itemNames(items: unknown): string {
  if (!Array.isArray(items)) return "";
  const names = items.flatMap((item: unknown) => {
    const { quantity, name } = fieldsOf(item);
    if (textOf(name) === undefined) return [];
    return [`${typeof quantity === "number" ? `${quantity} ` : ""}${textOf(name)}`];
  });
  return names.length === 0 ? "" : ` ${names.join(", ")}`;
}

export function price({ total, currency }: Readonly<Record<string, unknown>>): string | undefined {
  const amount = textOf(total);
  return amount === undefined ? undefined : [amount, textOf(currency)].filter(Boolean).join(" ");
}

/** `Jan 14, 17:30 UTC` of an ISO 8601 time. */
export function isoMoment(iso: unknown): string | undefined {
  const ms = typeof iso === "string" ? Date.parse(iso) : Number.NaN;
  return Number.isNaN(ms) ? undefined : `${MOMENT.format(ms)} UTC`;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
