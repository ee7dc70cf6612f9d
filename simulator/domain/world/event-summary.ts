import { type Envelope, envelopeSchema } from "../../../shared/events.ts";

type Fields = Readonly<Record<string, unknown>>;

const LONGEST_CHARACTERS = 120;
const MOMENT = new Intl.DateTimeFormat("en-US", {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  timeZone: "UTC",
});

/**
 * One line of plain text that says what an event is about, such as `Ada Lovelace left a voicemail · I lost my jacket`.
 * Any field may be missing or have any form, since users replay and override what they like.
 */
export function eventSummary({ type, data }: Pick<Envelope, "type" | "data">): string {
  const [what, detail] = sentence(type, data.object);
  const line = detail === undefined ? what : `${what} · ${detail}`;
  const text = line.replaceAll(/\s+/g, " ").trim();
  return text.length <= LONGEST_CHARACTERS ? text : `${shortened(text)}…`;
}

/** The same of an envelope's bytes; empty where they are none. */
export function summaryOfBody(body: unknown): string {
  if (!(body instanceof Uint8Array)) return "";
  const parsed = envelopeSchema.safeParse(JSON.parse(Buffer.from(body).toString()));
  return parsed.success ? eventSummary(parsed.data) : "";
}

function sentence(type: string, object: Fields): [what: string, detail?: string | undefined] {
  const who = text(object["customer_name"]) ?? text(object["phone"]) ?? "Somebody";
  switch (type) {
    case "voicemail.created":
      return [`${who} left a voicemail`, text(object["message_text"])];
    case "order.created":
      return [`${who} ordered${itemsOf(object["items"])}`, priceOf(object)];
    case "booking.created":
      return [`${who} booked ${text(object["service"]) ?? "an appointment"}`, moment(object["starts_at"])];
    case "call.transferred":
      return [`${who} was ${transferOf(object["transfer_succeeded"])} the staff line`, spoken(object)];
    case "call.completed":
      return [`${who} called`, [outcomeOf(object["outcome"]), spoken(object)].filter(Boolean).join(", ")];
    default:
      return [type, text(object["id"])];
  }
}

function outcomeOf(outcome: unknown): string | undefined {
  return outcome === "voicemail" ? "left a voicemail" : text(outcome);
}

function transferOf(succeeded: unknown): string {
  return succeeded === false || succeeded === "failed" ? "not put through to" : "put through to";
}

function spoken({ duration_sec: seconds }: Fields): string | undefined {
  if (typeof seconds !== "number" || !(seconds >= 0)) return undefined;
  return seconds < 60
    ? `${Math.floor(seconds)} s`
    : `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

function itemsOf(items: unknown): string {
  if (!Array.isArray(items)) return "";
  const names = items.flatMap((item: unknown) => {
    const { quantity, name } = fieldsOf(item);
    return text(name) === undefined
      ? []
      : [`${typeof quantity === "number" ? `${quantity} ` : ""}${text(name)}`];
  });
  return names.length === 0 ? "" : ` ${names.join(", ")}`;
}

function priceOf({ total, currency }: Fields): string | undefined {
  const amount = text(total);
  return amount === undefined ? undefined : [amount, text(currency)].filter(Boolean).join(" ");
}

/** `Jan 14, 17:30 UTC` of an ISO 8601 time. */
function moment(iso: unknown): string | undefined {
  const ms = typeof iso === "string" ? Date.parse(iso) : Number.NaN;
  return Number.isNaN(ms) ? undefined : `${MOMENT.format(ms)} UTC`;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

/** Cut between characters, never within one. */
function shortened(line: string): string {
  return Array.from(line.slice(0, LONGEST_CHARACTERS)).slice(0, -1).join("").trimEnd();
}
