import type { EventType } from "../../../shared/events.ts";
import type { Random } from "../random.ts";
import { type Caller, callerOf } from "./callers.ts";
import { EVENT_KINDS, type Story } from "./event-types.ts";
import type { Business } from "./organizations.ts";
import { LANGUAGES, type Language } from "./phrases/phrases.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The facts of a conversation that are decided before its words are made up. */
export type Plot = Story & {
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
    ...EVENT_KINDS[type].story(call, random),
    language,
    caller: known,
    callerName: name,
  };
}
