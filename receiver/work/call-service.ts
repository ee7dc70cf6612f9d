import { PermanentFailure, RetryAfter, type HandlerContext } from "./handler.ts";

const LIMIT_MS = 10_000;
const MOST_CHARACTERS_SHOWN = 200;
/** Statuses that ask for another try, besides those with Retry-After (RFC 9110). */
const TRY_AGAIN = new Set([408, 425, 429]);

/** A 2xx answer of a service. `json` is undefined if the body is not JSON. */
export type ServiceAnswer = { status: number; headers: Headers; text: string; json: unknown };

/**
 * Calls a service from a handler, which passes its context. The call ends with the attempt, or after 10 s, and carries
 * `Idempotency-Key`. A 429 or 503 with Retry-After, in seconds or as a date, throws `RetryAfter`; another 4xx throws
 * `PermanentFailure`; any other answer but 2xx throws an `Error`, so that the job is retried. Errors contain the address
 * without its query, which may hold a secret.
 */
export async function callService(
  url: string | URL,
  init: RequestInit,
  context: Pick<HandlerContext, "signal" | "idempotencyKey"> & { timeoutMs?: number },
): Promise<ServiceAnswer> {
  const { signal, idempotencyKey, timeoutMs = LIMIT_MS } = context;
  const headers = new Headers(init.headers);
  if (!headers.has("idempotency-key")) headers.set("idempotency-key", idempotencyKey);
  const limit = AbortSignal.timeout(timeoutMs);
  const { origin, pathname } = new URL(url);
  const call = `${init.method ?? "GET"} ${origin}${pathname}`;
  const response = await fetch(url, { ...init, headers, signal: AbortSignal.any([signal, limit]) })
    .then(async (given) => ({ status: given.status, headers: given.headers, text: await given.text() }))
    .catch((error: unknown) => {
      signal.throwIfAborted();
      if (limit.aborted) throw new Error(`${call} did not answer within ${String(timeoutMs / 1_000)} s`);
      const { cause = error } = error instanceof Error ? error : {};
      throw new Error(`${call} got no answer: ${String(cause)}`, { cause: error });
    });
  const { status, text } = response;
  if (status >= 200 && status < 300) return { ...response, json: jsonOf(text) };
  const problem = `${call} was answered ${String(status)}: ${text.slice(0, MOST_CHARACTERS_SHOWN)}`;
  const again = status === 429 || status === 503 ? timeOf(response.headers.get("retry-after")) : undefined;
  if (again !== undefined) throw new RetryAfter(again, problem);
  if (status >= 400 && status < 500 && !TRY_AGAIN.has(status)) throw new PermanentFailure(problem);
  throw new Error(problem);
}

/** Seconds or a date (RFC 9110 §10.2.3); undefined if it is neither. */
function timeOf(retryAfter: string | null): number | Date | undefined {
  if (retryAfter === null) return undefined;
  if (/^\d{1,9}$/.test(retryAfter.trim())) return Number(retryAfter);
  const date = new Date(retryAfter);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
