import type { EventType } from "../../../shared/events.ts";
import type { Random } from "../random.ts";
import { type Caller, callerOf } from "./callers.ts";
import { OUTCOMES, type Outcome } from "./conversation.ts";
import { type Business, LANGUAGES, type Language } from "./organizations.ts";
import type { Topic } from "./phrases/phrases.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What is settled about a conversation before it is made up. */
export type Plot = {
  outcome: Outcome;
  topic?: Topic;
  language?: Language | undefined;
  caller?: Caller | undefined;
  callerName?: string | undefined;
};

/**
 * How a call goes that ends in an event of `type`. Where the caller or the overrides of the event's object or of its call
 * say something about it, the rest follows them: the same number is the same person, a failed transfer is told as one.
 */
export function plotOf(options: {
  type: EventType;
  seed: number;
  random: Random;
  business: Business;
  object: Fields;
  call: Fields;
  caller?: Partial<Caller> | undefined;
}): Plot {
  const { type, seed, random, business, object, call, caller = {} } = options;
  const phone = [call["phone"], object["phone"], caller.phone].find((given) => typeof given === "string");
  const known = phone === undefined ? undefined : callerOf({ seed, business, phone });
  const language =
    LANGUAGES.find((spoken) => spoken === call["detected_language"]) ?? caller.language ?? known?.language;
  const name = [object["customer_name"], caller.name].find((given) => typeof given === "string");
  return {
    ...storyOf(type, random, call),
    language,
    caller: known,
    callerName: name,
  };
}

function storyOf(type: EventType, random: Random, call: Fields): { outcome: Outcome; topic?: Topic } {
  if (type === "voicemail.created") return { outcome: "voicemail" };
  if (type === "order.created") return { outcome: "completed", topic: "order" };
  if (type === "booking.created") return { outcome: "completed", topic: "booking" };
  if (type === "call.transferred" || call["transferred"] === true) return transferOf(call);
  const outcome = OUTCOMES.find((known) => known === call["outcome"]) ?? "completed";
  if (outcome === "transferred") return transferOf(call);
  if (outcome === "voicemail") return { outcome };
  // An order or a booking would have an event of its own.
  return {
    outcome,
    topic: random.weighted<Topic>([
      ["hours", 80],
      ["complaint", 20],
    ]),
  };
}

function transferOf(call: Fields): { outcome: Outcome; topic: Topic } {
  return {
    outcome: "transferred",
    topic: call["transfer_succeeded"] === false ? "failed_transfer" : "transfer",
  };
}
