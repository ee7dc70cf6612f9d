import type { z } from "zod";

/**
 * The HTTP status of every error of the service (SPEC §7). `invalid_request` is a reading: the service does not publish the
 * code for a bad `limit`, `outcome` or `reviewed`.
 */
export const ERROR_STATUS = {
  invalid_cursor: 400,
  invalid_request: 400,
  unauthorized: 401,
  not_found: 404,
  server_error: 500,
} as const;

/** The service's own reasons, and those that only a simulator has. */
export const STATUS_OF = {
  ...ERROR_STATUS,
  insufficient_scope: 403,
  forbidden_origin: 403,
  method_not_allowed: 405,
  already_running: 409,
  endpoint_deleted: 409,
  id_taken: 409,
  not_selected: 409,
  not_running: 409,
  nothing_due: 409,
  too_large: 413,
  unsupported_media_type: 415,
  misdirected_request: 421,
  too_many_streams: 503,
} as const;

export type ErrorCode = keyof typeof STATUS_OF;

/** A refusal: why, and what to do instead; `invalid_request` unless it names another reason. */
export type Refused = { ok: false; reason?: ErrorCode | undefined; message: string };

export function refused(message: string, reason?: ErrorCode): Refused {
  return { ok: false, reason, message };
}

export function refusedBy(error: z.ZodError, nameOf = (path: string): string => path): Refused {
  return refused(error.issues.map((issue) => describe(issue, nameOf)).join(" "));
}

function describe(issue: z.core.$ZodIssue, nameOf: (path: string) => string): string {
  const path = nameOf(issue.path.map(String).join("."));
  return `${path === "" ? "The request" : path}: ${plainMessage(issue)}.`.replace(/\.\.$/, ".");
}

/** The message of an issue in plain words: "expected string, but it is missing". */
export function plainMessage({ message }: { message: string }): string {
  return message
    .replace(/^Invalid (?:input|option): /, "")
    .replace("received undefined", "but it is missing");
}

export function notFound(kind: "endpoint" | "event" | "job", id: string): Refused {
  return refused(`There is no ${kind} ${JSON.stringify(id)}.`, "not_found");
}

/** Longer words are not compared, since that would take long. */
const LONGEST_WORD_CHARACTERS = 100;

/** ` Did you mean "x"?` for the end of an error message, or nothing when no candidate is close. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  if (word.length > LONGEST_WORD_CHARACTERS) return "";
  const closest = candidates
    // A word of twice the length is not close.
    .filter((candidate) => word.length <= 2 * candidate.length)
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.max(2, Math.floor(candidate.length / 3)))
    .toSorted((left, right) => left.distance - right.distance)[0];
  return closest === undefined ? "" : ` Did you mean "${closest.candidate}"?`;
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
