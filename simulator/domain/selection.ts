import { z } from "zod";
import { DURATIONS, parseDuration } from "./duration.ts";
import { STATE_WORDS, type StateWord } from "./outcome.ts";
import { parseQuery, QUERY_FIELDS, type PathTerm } from "./query.ts";
import { type Refused, refusedBy } from "./refused.ts";
import { CAUSE_NAMES, VERDICT_RESULTS, type VerdictResult } from "./shapes.ts";

const LONGEST_QUERY_CHARACTERS = 200;
const MOMENTS = `expected a time such as 2026-01-31T18:00:00Z, or how long before now, with its unit: ${DURATIONS}`;

const momentSchema = z
  .string(MOMENTS)
  .refine((moment) => Number.isFinite(momentMs(moment, 0)), MOMENTS)
  .optional();

/** A query; one of white space only selects nothing. */
export const textSchema = z.string().trim().max(LONGEST_QUERY_CHARACTERS).optional();

/**
 * Selects deliveries: the one set of fields for lists, counts, resends, the dashboard, the commands and (in camelCase) the
 * library. `q` is a query (`query.ts`), whose terms are the other fields; a given field takes precedence over its term. All
 * fields must match; an empty selection is every delivery.
 */
export const selectionFields = {
  type: z.string().optional(),
  q: textSchema,
  state: z.enum(STATE_WORDS).optional(),
  verdict: z.enum(VERDICT_RESULTS).optional(),
  cause: z.enum(CAUSE_NAMES).optional(),
  endpoint_id: z.string().optional(),
  event_id: z.string().optional(),
  /** How one of the attempts ended: a status such as `500`, or an error such as `timeout`. */
  status: z.string().optional(),
  phone: z.string().regex(/\d{3}/, "expected three digits or more of a phone number").optional(),
  /** Created at or after `since`, before `until`. */
  since: momentSchema,
  until: momentSchema,
  /** Gave up at or after, before. */
  gave_up_since: momentSchema,
  gave_up_until: momentSchema,
};
export const selectionSchema = z.strictObject(selectionFields);

export type SelectionFields = z.infer<typeof selectionSchema>;

/** A selection, ready for a search. Times are milliseconds of schedule time. */
export type Selection = {
  type?: string | undefined;
  state?: StateWord | undefined;
  verdict?: VerdictResult | undefined;
  cause?: string | undefined;
  endpointId?: string | undefined;
  eventId?: string | undefined;
  ids?: readonly string[] | undefined;
  /** Text in the ids, type, summary, endpoint URL or payload, without regard to case. */
  text?: string | undefined;
  paths?: readonly PathTerm[] | undefined;
  outcome?: string | undefined;
  phone?: string | undefined;
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
  gaveUpSinceMs?: number | undefined;
  gaveUpUntilMs?: number | undefined;
  /** Not sent again since, to an existing endpoint. */
  isLast?: boolean | undefined;
};

/** Parses the query of a selection, and its times relative to `nowMs`; refused if a term is invalid. */
export function selectionOf(
  { q = "", ...asked }: SelectionFields,
  nowMs: number,
): { ok: true; selection: Selection } | Refused {
  const { fields, paths, text } = parseQuery(q);
  const given = withoutUndefined(asked);
  const parsed = selectionSchema.safeParse({ ...fields, ...given });
  // Reports an error with its position in the query.
  const terms = new Map<string, string>(Object.entries(QUERY_FIELDS).map(([term, field]) => [field, term]));
  const nameOf = (field: string): string => (field in given ? field : (terms.get(field) ?? field));
  if (!parsed.success) return refusedBy(parsed.error, nameOf);
  const { type, state, verdict, cause, phone, ...rest } = parsed.data;
  const at = (moment: string | undefined) => (moment === undefined ? undefined : momentMs(moment, nowMs));
  return {
    ok: true,
    selection: {
      type,
      state,
      verdict,
      cause,
      phone,
      paths,
      endpointId: rest.endpoint_id,
      eventId: rest.event_id,
      outcome: rest.status,
      text: text === "" ? undefined : text,
      sinceMs: at(rest.since),
      untilMs: at(rest.until),
      gaveUpSinceMs: at(rest.gave_up_since),
      gaveUpUntilMs: at(rest.gave_up_until),
    },
  };
}

function withoutUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function momentMs(moment: string, nowMs: number): number {
  const agoSeconds = parseDuration(moment);
  if (agoSeconds !== undefined) return nowMs - agoSeconds * 1000;
  // Date.parse() finds a date in nearly every text.
  return /^\d{4}-\d{2}/.test(moment) ? Date.parse(moment) : Number.NaN;
}
