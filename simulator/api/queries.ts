import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAXIMUM } from "../domain/limits.ts";
import type { Readings } from "../domain/readings.ts";
import { OUTCOMES } from "../domain/world/conversation.ts";
import { type Refused, refused } from "../domain/refused.ts";

export type PageQuery = { limit: number; startingAfter?: string | undefined };

/** A parsed query, or why it is refused with `invalid_request`. */
export type Parsed<Value> = { ok: true; value: Value } | Refused;

type Source = { query: URLSearchParams; readings: Readings };

/** The parameters of GET /api/v1/calls; unknown ones are ignored. */
export function parseCallsQuery(source: Source): Parsed<PageQuery & { outcome?: string | undefined }> {
  const page = parsePage(source, "outcome");
  if (!page.ok) return page;
  const outcome = source.query.get("outcome") ?? undefined;
  const isKnown = outcome === undefined || OUTCOMES.some((known) => known === outcome);
  if (!isKnown && source.readings.unknown_outcome === "reject")
    return refused(`outcome must be one of ${OUTCOMES.join(", ")}, not ${JSON.stringify(outcome)}.`);
  return { ok: true, value: { ...page.value, outcome } };
}

/** The parameters of GET /api/v1/voicemails; unknown ones are ignored. */
export function parseVoicemailsQuery(source: Source): Parsed<PageQuery & { reviewed?: boolean | undefined }> {
  const page = parsePage(source, "reviewed");
  const text = source.query.get("reviewed");
  if (!page.ok || text === null) return page;
  if (text === "true" || text === "false")
    return { ok: true, value: { ...page.value, reviewed: text === "true" } };
  if (source.readings.invalid_reviewed === "ignore") return page;
  return refused(`reviewed must be true or false, not ${JSON.stringify(text)}.`);
}

/** The parameters of every list. A repeated one is refused, since the specification does not say which value counts. */
function parsePage({ query, readings }: Source, filter: string): Parsed<PageQuery> {
  const repeated = ["limit", "starting_after", filter].find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined)
    return refused(`${repeated} is given ${query.getAll(repeated).length} times; give it once.`);
  const limit = parseLimit(query.get("limit") ?? undefined, readings);
  const startingAfter = query.get("starting_after") ?? undefined;
  return limit.ok ? { ok: true, value: { limit: limit.value, startingAfter } } : limit;
}

function parseLimit(text: string | undefined, readings: Readings): Parsed<number> {
  if (text === undefined) return { ok: true, value: LIST_LIMIT_DEFAULT };
  const rule = `limit must be a whole number from 1 to ${LIST_LIMIT_MAXIMUM}, not ${JSON.stringify(text)}.`;
  if (!/^-?[0-9]+$/.test(text)) {
    return readings.limit_not_a_number === "default"
      ? { ok: true, value: LIST_LIMIT_DEFAULT }
      : refused(rule);
  }
  const limit = Number(text);
  const clamped = Math.min(LIST_LIMIT_MAXIMUM, Math.max(1, limit));
  if (limit !== clamped && readings.limit_out_of_range === "reject") return refused(rule);
  return { ok: true, value: clamped };
}
