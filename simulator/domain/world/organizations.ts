import type { Agent, Organization } from "../../../shared/resources.ts";
import { createRandom, stableId } from "../random.ts";
import { type Refused, refused } from "../refused.ts";
import { didYouMean } from "../suggest.ts";
import { timestamp } from "./calendar.ts";
import type { Language } from "./phrases/phrases.ts";
import { type Trade, TRADES } from "./trades.ts";

/** One customer of the service, with all that its calls have in common. */
export type Business = {
  /** Place among the organizations, from 0. */
  number: number;
  trade: Trade;
  organization: Organization;
  apiKey: string;
  agents: readonly [Agent, ...Agent[]];
  /** Where calls are transferred to. */
  staffPhone: string;
  /** Hours east of UTC, the whole year round. */
  utcOffsetHours: number;
  /** What its callers speak, each with its weight. */
  languages: Readonly<Record<Language, number>>;
};

/** Language of a caller about whom nothing is known. */
export const USUAL_LANGUAGE: Language = "en";
/** What scenarios call the first business of each trade. */
export const TRADE_NAMES = ["restaurant", "services"] as const;
const AGENT_NAMES = ["Ava", "Leo", "Maya", "Theo", "Iris", "Hugo"] as const;
const TIERS = ["starter", "growth", "scale"] as const;
const STYLES = ["casual_friendly", "warm_professional", "brisk_helpful"] as const;
const DAY_SECONDS = 86_400;

/** How many organizations there are at least: one of each trade. */
export const MINIMUM_ORGANIZATIONS = TRADE_NAMES.length;

/**
 * `count` businesses, restaurants and service businesses in turn, that signed up before `historyStart` (Unix seconds).
 */
export function createBusinesses(options: {
  seed: number;
  count: number;
  historyStart: number;
}): readonly Business[] {
  const count = Math.max(MINIMUM_ORGANIZATIONS, options.count);
  return Array.from({ length: count }, (_, number) => createBusiness({ ...options, number }));
}

function createBusiness(options: { seed: number; number: number; historyStart: number }): Business {
  const { seed, number } = options;
  const random = createRandom(seed, "business", number);
  const trade = TRADE_NAMES[number % TRADE_NAMES.length] ?? "restaurant";
  const { first: fixed, industry, persona, languages, utcOffsetHours } = TRADES[trade];
  const isFixed = number < TRADE_NAMES.length;
  const signedUpAt = options.historyStart - random.int(7, 60) * DAY_SECONDS - random.int(0, DAY_SECONDS - 1);
  const areaCode = isFixed ? fixed.areaCode : random.pick([305, 312, 512, 617, 702, 808]);
  const names = isFixed ? fixed.agents : [random.pick(AGENT_NAMES)];
  const [first = "Ava", ...others] = names;

  const agent = (name: string, index: number): Agent => ({
    object: "agent",
    id:
      isFixed && index === 0
        ? fixed.agentId
        : stableId("ag_", 16, { seed, purpose: `agent ${index}`, index: number }),
    name,
    persona_id: persona,
    voice_id: `voice_${name.toLowerCase()}`,
    phone_number: `+1${areaCode}555010${index + 2}`,
    status: "active",
    greeting_style: isFixed && trade === "restaurant" ? "casual_friendly" : random.pick(STYLES),
    created_at: timestamp(signedUpAt + 300 + index * DAY_SECONDS),
    updated_at: timestamp(signedUpAt + 3 * DAY_SECONDS + index * 3_600),
  });

  return {
    number,
    trade,
    organization: {
      object: "organization",
      id: isFixed ? fixed.id : stableId("org_", 16, { seed, purpose: "organization", index: number }),
      name: isFixed ? fixed.name : nameOf(trade, number),
      industry,
      subscription_tier: isFixed ? "growth" : random.pick(TIERS),
      subscription_status: "active",
      created_at: timestamp(signedUpAt),
      api_scopes: ["read"],
    },
    apiKey: isFixed ? fixed.apiKey : `${fixed.apiKey}_${Math.floor(number / TRADE_NAMES.length) + 1}`,
    agents: [agent(first, 0), ...others.map((name, index) => agent(name, index + 1))],
    staffPhone: `+1${areaCode}5550101`,
    utcOffsetHours,
    languages,
  };
}

/** Names run out after a while; then they get a number, as branches do. */
function nameOf(trade: Trade, number: number): string {
  const { others: names, first } = TRADES[trade];
  const index = Math.floor(number / TRADE_NAMES.length) - 1;
  const branch = Math.floor(index / names.length) + 1;
  const name = names[index % names.length] ?? first.name;
  return branch === 1 ? name : `${name} No. ${branch}`;
}

export type ChosenBusiness = { ok: true; business: Business } | Refused;

/** Where an event happens that only `trade` sees, if any: at `orgId` if that fits, or at the first business that fits. */
export function chooseBusiness(
  businesses: readonly Business[],
  { type, trade, orgId }: { type: string; trade: Trade | undefined; orgId: string | undefined },
): ChosenBusiness {
  const fitting = businesses.filter((business) => trade === undefined || business.trade === trade);
  const business =
    orgId === undefined ? fitting[0] : businesses.find(({ organization }) => organization.id === orgId);
  if (business === undefined) {
    const ids = businesses.map(({ organization }) => organization.id);
    return refused(`There is no organization ${orgId}.${didYouMean(orgId ?? "", ids)} ${offer(fitting)}`);
  }
  if (trade === undefined || business.trade === trade) return { ok: true, business };
  return refused(
    `${type} happens at ${TRADES[trade].called}, and ${business.organization.name} (${orgId}) is ` +
      `${TRADES[business.trade].called}. ${offer(fitting)}`,
  );
}

function offer(businesses: readonly Business[]): string {
  return `Use ${businesses.map(({ organization }) => `${organization.id} (${organization.name})`).join(" or ")}.`;
}
