import type { Random } from "../random.ts";
import { isOpen } from "./calendar.ts";
import { type Caller, pickCaller } from "./callers.ts";
import type { Business } from "./organizations.ts";
import { type Language, PHRASES, type Topic, type VoicemailReason } from "./phrases/phrases.ts";
import { type Trade, TRADES } from "./trades.ts";

/** Outcomes that the service documents (SPEC §2 call). */
export const OUTCOMES = ["completed", "transferred", "voicemail"] as const;

export type Outcome = (typeof OUTCOMES)[number];

/** The content of a call and how it ended, from which its call, voicemail, order or booking is made. */
export type Conversation = {
  topic: Topic;
  outcome: Outcome;
  caller: Caller;
  /** Index into the business's agents. */
  agent: number;
  transcript: string;
  durationSeconds: number;
  transferSucceeded: boolean;
  message: string;
  reason: VoicemailReason;
  items: { name: string; quantity: number; priceCents: number }[];
  service: string;
  serviceMinutes: number;
  /** When the booked appointment starts, Unix seconds. */
  startsAt: number;
};

const MENU = [
  ["Margherita", 1150],
  ["Diavola", 1350],
  ["Quattro Formaggi", 1400],
  ["Tagliatelle al ragù", 1650],
  ["Lasagne", 1550],
  ["Insalata mista", 850],
  ["Focaccia", 600],
  ["Tiramisù", 750],
  ["Limonata", 450],
] as const;

const SERVICES = [
  ["Safety inspection", 60],
  ["Repair visit", 90],
  ["Free estimate", 30],
  ["Yearly service", 120],
] as const;

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
const SECONDS_A_LINE = 6;

/** How a call at `at` (Unix seconds) ends, for a `draw` in [0, 1): after hours, mostly in a voicemail. */
export function outcomeAt(draw: number, business: Business, at: number): Outcome {
  if (!isOpen(business.trade, at, business.utcOffsetHours)) return draw < 0.42 ? "completed" : "voicemail";
  if (draw < 0.76) return "completed";
  return draw < 0.91 ? "transferred" : "voicemail";
}

/** Invents a conversation at `at` (Unix seconds); given parts are kept, the rest comes from `random`. */
export function converse(options: {
  seed: number;
  random: Random;
  business: Business;
  at: number;
  outcome: Outcome;
  topic?: Topic;
  language?: Language | undefined;
  caller?: Caller | undefined;
  callerName?: string | undefined;
}): Conversation {
  const { seed, random, business, at, outcome } = options;
  const language = options.language ?? random.among(business.languages);
  const known = options.caller ?? pickCaller({ seed, random, business, language });
  const caller = { ...known, language, name: options.callerName ?? known.name };
  const agent = random.int(0, business.agents.length - 1);
  const topic = options.topic ?? pickTopic(random, business.trade, outcome);
  const phrases = PHRASES[language];

  const items = pickItems(random);
  const serviceIndex = random.int(0, SERVICES.length - 1);
  const [service, serviceMinutes] = SERVICES[serviceIndex] ?? SERVICES[0];
  const startsAt = pickSlot(random, business, at);
  const reason = pickReason(random, business, at);
  const slot = new Date((startsAt + business.utcOffsetHours * HOUR_SECONDS) * 1000);
  const words: Record<string, string> = {
    business: business.organization.name,
    agent: (business.agents[agent] ?? business.agents[0]).name,
    name: caller.name,
    items: joined(
      items.map(({ name, quantity }) => `${quantity} ${name}`),
      phrases.and,
    ),
    total: topic === "order" ? dollars(totalCents(items)) : String(random.int(8, 30) * 5),
    minutes: String(random.int(4, 10) * 5),
    service: phrases.services[serviceIndex] ?? service.toLowerCase(),
    day: phrases.weekdays[slot.getUTCDay()] ?? "",
    time: clockTime(slot.getUTCHours(), slot.getUTCMinutes(), phrases.twelveHourClock),
  };
  const message = fill(random.pick(phrases.messages[business.trade]), words);

  const lines = [
    `A: ${random.pick(phrases.greetings)}`,
    ...(topic === "voicemail" ? [`A: ${phrases.messageIntroductions[reason]}`] : []),
    ...random.pick(phrases.conversations[topic]),
    ...(topic === "transfer" ? [] : [`A: ${random.pick(phrases.goodbyes)}`]),
  ];

  return {
    topic,
    outcome,
    caller,
    agent,
    transcript: lines.map((line) => labelled(fill(line, { ...words, message }))).join("\n"),
    durationSeconds: lines.length * SECONDS_A_LINE + random.int(4, outcome === "transferred" ? 240 : 45),
    transferSucceeded: topic !== "failed_transfer",
    message,
    reason,
    items,
    service,
    serviceMinutes,
    startsAt,
  };
}

export function totalCents(items: Conversation["items"]): number {
  return items.reduce((total, { quantity, priceCents }) => total + quantity * priceCents, 0);
}

export function dollars(cents: number): string {
  return (cents / 100).toFixed(2);
}

function pickTopic(random: Random, trade: Trade, outcome: Outcome): Topic {
  if (outcome === "voicemail") return "voicemail";
  if (outcome === "transferred") return random.among({ transfer: 80, failed_transfer: 20 });
  return random.among(TRADES[trade].topics);
}

function pickItems(random: Random): Conversation["items"] {
  const first = random.int(0, MENU.length - 1);
  return Array.from({ length: random.int(1, 3) }, (_, offset) => {
    const [name, priceCents] = MENU[(first + offset * 2) % MENU.length] ?? MENU[0];
    return {
      name,
      quantity: random.weighted([
        [1, 60],
        [2, 30],
        [3, 10],
      ]),
      priceCents,
    };
  });
}

/** A half hour of a working day, one to ten days later. */
function pickSlot(random: Random, business: Business, at: number): number {
  const offsetSeconds = business.utcOffsetHours * HOUR_SECONDS;
  const midnight = Math.floor((at + offsetSeconds) / DAY_SECONDS) * DAY_SECONDS - offsetSeconds;
  const { from, until } = TRADES[business.trade].slots;
  const halfHours = random.int(from * 2, until * 2);
  return midnight + random.int(1, 10) * DAY_SECONDS + (halfHours * HOUR_SECONDS) / 2;
}

function pickReason(random: Random, business: Business, at: number): VoicemailReason {
  const open = isOpen(business.trade, at, business.utcOffsetHours);
  return open ? random.among({ staff_unavailable: 60, callback_requested: 40 }) : "after_hours";
}

function joined(parts: readonly string[], and: string): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} ${and} ${parts.at(-1)}`;
}

function clockTime(hours: number, minutes: number, twelveHours: boolean): string {
  const padded = String(minutes).padStart(2, "0");
  if (!twelveHours) return `${hours}:${padded}`;
  return `${hours % 12 === 0 ? 12 : hours % 12}:${padded} ${hours < 12 ? "AM" : "PM"}`;
}

function fill(template: string, words: Record<string, string>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, word: string) => words[word] ?? "");
}

function labelled(line: string): string {
  return line.replace(/^A:/, "Agent:").replace(/^C:/, "Caller:");
}
