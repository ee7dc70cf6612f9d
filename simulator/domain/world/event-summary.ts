import { type Envelope, isEventType } from "../../../shared/events.ts";
import { EVENT_KINDS } from "./event-types.ts";
import { textOf } from "./field-words.ts";

const LONGEST_CHARACTERS = 120;

/**
 * One line of plain text that says what an event is about, such as `Ada Lovelace left a voicemail · I lost my jacket`.
 * Any field may be missing or have any form, since users replay and override what they like.
 */
export function eventSummary({ type, data: { object } }: Pick<Envelope, "type" | "data">): string {
  const who = textOf(object["customer_name"]) ?? textOf(object["phone"]) ?? "Somebody";
  const [what, detail] = isEventType(type)
    ? EVENT_KINDS[type].sentence(object, who)
    : [type, textOf(object["id"])];
  const text = [what, detail].filter(Boolean).join(" · ").replaceAll(/\s+/g, " ").trim();
  return text.length <= LONGEST_CHARACTERS ? text : `${shortened(text)}…`;
}

/** Cut between characters, never within one. */
function shortened(line: string): string {
  return Array.from(line.slice(0, LONGEST_CHARACTERS)).slice(0, -1).join("").trimEnd();
}
