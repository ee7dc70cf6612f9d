/** The maximum cost of one search: rows and milliseconds. */
export type SearchBounds = { rows: number; milliseconds: number };

/** The maximum cost of one request for a page: attempts with a deadline must not wait for a search. */
export const PAGE_BOUNDS: SearchBounds = { rows: 20_000, milliseconds: 25 };

export const NO_BOUNDS: SearchBounds = { rows: Infinity, milliseconds: Infinity };

/** A part of a list. If there may be more, `next` is the id below which to continue. */
export type FoundPage<Row> = { found: Row[]; next: string | null };

/** Looks for `limit` rows that match; ends early at its bounds, so a page may be short though `next` has more. */
export function searchPage<Row extends { id: string }>(options: {
  rows: Iterable<Row>;
  matches: (row: Row) => boolean;
  limit: number;
  bounds: SearchBounds;
  monotonicMs: () => number;
}): FoundPage<Row> {
  const { matches, limit, bounds, monotonicMs } = options;
  const untilMs = monotonicMs() + bounds.milliseconds;
  const found: Row[] = [];
  let looked = 0;
  let last: string | null = null;
  for (const row of options.rows) {
    const isSpent = looked >= bounds.rows || monotonicMs() > untilMs;
    // At least one row, or the next page would begin at the same row.
    if (isSpent && looked > 0) return { found, next: last };
    looked += 1;
    if (matches(row)) {
      if (found.length === limit) return { found, next: last };
      found.push(row);
    }
    last = row.id;
  }
  return { found, next: null };
}

/** Matches text without regard to case, raw or as JSON writes it; phone numbers match by their digits. */
export function textMatcher(query: string): (text: string) => boolean {
  const typed = query.toLowerCase();
  const inJson = JSON.stringify(typed).slice(1, -1);
  const hasPhone = PHONE.test(query) ? phoneMatcher(query) : () => false;
  if (inJson === typed) return (text) => text.toLowerCase().includes(typed) || hasPhone(text);
  return (text) => {
    const folded = text.toLowerCase();
    return folded.includes(typed) || folded.includes(inJson);
  };
}

/** A phone number as people print it: `(212) 555-0194`. */
const PHONE = /^\s*\+?(?:[\s()./-]*\d){7,15}\s*$/;
const BETWEEN_DIGITS = String.raw`[\s()./-]{0,3}`;

/** Whether a text contains a phone number with the digits of `query`, in any notation. */
export function phoneMatcher(query: string): (text: string) => boolean {
  const pattern = new RegExp(query.replaceAll(/\D/g, "").split("").join(BETWEEN_DIGITS));
  return (text) => pattern.test(text);
}
