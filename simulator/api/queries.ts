import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAXIMUM } from "../../shared/limits.ts";
import type { Readings } from "../domain/readings.ts";
import { OUTCOMES } from "../domain/world/conversation.ts";
import { type Refused, refused } from "../domain/refused.ts";

export type PageQuery = { limit: number; startingAfter?: string | undefined };

/** A parsed query, or why it is refused with `invalid_request`. */
export type Parsed<Value> = { ok: true; value: Value } | Refused;

type Source = { query: URLSearchParams; readings: Readings };

/** The parameters of GET /api/v1/calls; unknown ones are left alone. */
export function parseCallsQuery(source: Source): Parsed<PageQuery & { outcome?: string | undefined }> {
  const page = parsePage(source);
  if (!page.ok) return page;
  const outcome = single(source.query, "outcome");
  if (!outcome.ok) return outcome;
  const isKnown = outcome.value === undefined || OUTCOMES.some((known) => known === outcome.value);
  if (!isKnown && source.readings.unknown_outcome === "reject") {
    return refused(`outcome must be one of ${OUTCOMES.join(", ")}, not ${JSON.stringify(outcome.value)}.`);
  }
  return { ok: true, value: { ...page.value, outcome: outcome.value } };
}

/** The parameters of GET /api/v1/voicemails; unknown ones are left alone. */
export function parseVoicemailsQuery(source: Source): Parsed<PageQuery & { reviewed?: boolean | undefined }> {
  const page = parsePage(source);
  if (!page.ok) return page;
  const reviewed = single(source.query, "reviewed");
  if (!reviewed.ok) return reviewed;
  const { value } = reviewed;
  if (value !== undefined && value !== "true" && value !== "false") {
    if (source.readings.invalid_reviewed === "ignore") return page;
    return refused(`reviewed must be true or false, not ${JSON.stringify(value)}.`);
  }
  return { ok: true, value: { ...page.value, reviewed: value === undefined ? undefined : value === "true" } };
}

function parsePage({ query, readings }: Source): Parsed<PageQuery> {
  const limit = single(query, "limit");
  if (!limit.ok) return limit;
  const startingAfter = single(query, "starting_after");
  if (!startingAfter.ok) return startingAfter;
  const items = parseLimit(limit.value, readings);
  if (!items.ok) return items;
  return { ok: true, value: { limit: items.value, startingAfter: startingAfter.value } };
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

/** The one value of a parameter: which of two the service would take is not stated, so two are refused. */
function single(query: URLSearchParams, name: string): Parsed<string | undefined> {
  const values = query.getAll(name);
  return values.length < 2
    ? { ok: true, value: values[0] }
    : refused(`${name} is given ${values.length} times; give it once.`);
}
