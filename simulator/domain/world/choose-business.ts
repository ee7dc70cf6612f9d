import type { EventType } from "../../../shared/events.ts";
import { didYouMean } from "../suggest.ts";
import { EVENT_KINDS } from "./event-types.ts";
import type { Business } from "./organizations.ts";
import { TRADES } from "./trades.ts";
import { type Refused, refused } from "../refused.ts";

export type ChosenBusiness = { ok: true; business: Business } | Refused;

/** Where an event of `type` happens: at `orgId` if that fits, or at the first business that it fits. */
export function chooseBusiness(
  businesses: readonly Business[],
  type: EventType,
  orgId: string | undefined,
): ChosenBusiness {
  const { trade } = EVENT_KINDS[type];
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
