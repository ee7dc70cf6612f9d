import type { Trade } from "../calendar.ts";

/** What a call can be about. */
export type Topic =
  | "hours"
  | "order"
  | "booking"
  | "price"
  | "complaint"
  | "transfer"
  | "failed_transfer"
  | "voicemail";

/** Why the agent takes a message. */
export type VoicemailReason = "after_hours" | "staff_unavailable" | "callback_requested";

/** One or more conversations about a topic; each line starts with `A:` for the agent or `C:` for the caller. */
type Conversations = readonly [readonly string[], ...(readonly string[])[]];

/**
 * All that calls in one language are made of. Words in braces are filled in: `{business} {agent} {name} {items} {total}
 * {minutes} {service} {day} {time} {message}`.
 */
export type Phrases = {
  greetings: readonly string[];
  conversations: Record<Topic, Conversations>;
  /** What the agent says before it takes a message. */
  messageIntroductions: Record<VoicemailReason, string>;
  messages: Record<Trade, readonly string[]>;
  goodbyes: readonly string[];
  and: string;
  /** From Sunday. */
  weekdays: readonly string[];
  /** In the order of the services that are booked. */
  services: readonly string[];
  twelveHourClock: boolean;
};
