import type { Agent, Organization } from "../../../shared/events.ts";
import { createRandom, stableId } from "../random.ts";
import { type Refused, refused, didYouMean } from "../refused.ts";
import { timestamp } from "./calendar.ts";
import type { Language } from "./phrases/phrases.ts";
import { type Trade, TRADES } from "./trades.ts";

/** One customer of the service, with all that its calls have in common. */
export type Business = {
  number: number;
  trade: Trade;
  organization: Organization;
  apiKey: string;
  agents: readonly [Agent, ...Agent[]];
  staffPhone: string;
  /** Hours east of UTC, the whole year round. */
  utcOffsetHours: number;
  languages: Readonly<Record<Language, number>>;
};

/** The language of an unknown caller. */
export const USUAL_LANGUAGE: Language = "en";
/** The trades in their order; what scenarios call the business of each. */
export const TRADE_NAMES = ["restaurant", "services"] as const;
const STYLES = ["casual_friendly", "warm_professional", "brisk_helpful"] as const;
const DAY_SECONDS = 86_400;

/** A restaurant and a service business, which signed up before `historyStart` (Unix seconds). */
export function createBusinesses(options: { seed: number; historyStart: number }): readonly Business[] {
  return TRADE_NAMES.map((trade, number) => createBusiness(trade, { ...options, number }));
}

function createBusiness(
  trade: Trade,
  options: { seed: number; number: number; historyStart: number },
): Business {
  const { seed, number } = options;
  const random = createRandom(seed, "business", number);
  const { first, industry, persona, languages, utcOffsetHours } = TRADES[trade];
  const signedUpAt = options.historyStart - random.int(7, 60) * DAY_SECONDS - random.int(0, DAY_SECONDS - 1);

  const agent = (name: string, index: number): Agent => ({
    object: "agent",
    id: index === 0 ? first.agentId : stableId("ag_", 16, { seed, purpose: `agent ${index}`, index: number }),
    name,
    persona_id: persona,
    voice_id: `voice_${name.toLowerCase()}`,
    phone_number: `+1${first.areaCode}555010${index + 2}`,
    status: "active",
    greeting_style: trade === "restaurant" ? "casual_friendly" : random.pick(STYLES),
    created_at: timestamp(signedUpAt + 300 + index * DAY_SECONDS),
    updated_at: timestamp(signedUpAt + 3 * DAY_SECONDS + index * 3_600),
  });

  const [name = "Ava", ...names] = first.agents;
  return {
    number,
    trade,
    organization: {
      object: "organization",
      id: first.id,
      name: first.name,
      industry,
      subscription_tier: "growth",
      subscription_status: "active",
      created_at: timestamp(signedUpAt),
      api_scopes: ["read"],
    },
    apiKey: first.apiKey,
    agents: [agent(name, 0), ...names.map((other, index) => agent(other, index + 1))],
    staffPhone: `+1${first.areaCode}5550101`,
    utcOffsetHours,
    languages,
  };
}

export type ChosenBusiness = { ok: true; business: Business } | Refused;

/** Where an event of `trade`, if any, happens: at `orgId` if that fits, or at the first business that fits. */
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
