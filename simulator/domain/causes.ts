import { forgeryAnswer, isRefusal, isSuccess } from "./judgement.ts";
import type { AttemptError, Outcome } from "./outcome.ts";

/** Why a delivery failed, without ids, numbers, addresses and times: the same words for dashboard, verify and commands. */
export type Cause = { words: string; fix: string };

/** The kind of a delivery: honest, a duplicate, with something new in it, or not signed by the service. */
export type Meaning = "genuine" | "duplicate" | "unfamiliar" | "forged";

export type CauseName = keyof typeof CAUSES;

/** Why an attempt is a failure of the receiver; undefined if the receiver was right. */
export function causeOf(ending: Outcome, meaning: Meaning = "genuine"): CauseName | undefined {
  if ("error" in ending) return OF_ERROR[ending.error];
  const { status } = ending;
  if (meaning === "forged") return OF_FORGERY[forgeryAnswer(status)];
  if (isSuccess(status)) return undefined;
  const isRefused = isRefusal(status);
  const named = OF_STATUS[status];
  const isOther = named === "signature_refused" || named === "rate_limited";
  if (meaning === "duplicate" && isRefused && !isOther) return "duplicate_refused";
  if (meaning === "unfamiliar" && isRefused && named === undefined) return "unfamiliar_refused";
  if (named !== undefined) return named;
  if (isRefused) return "refused";
  return status >= 500 ? "server_error" : "redirected";
}

const OF_FORGERY = {
  accepted: "forgery_accepted",
  refused: undefined,
  failed: "forgery_not_refused",
} as const;

const OF_ERROR = {
  dns: "unknown_host",
  refused: "connection_refused",
  reset: "connection_reset",
  closed: "connection_closed",
  tls: "tls_failed",
  timeout: "timed_out",
  protocol: "not_http",
  interrupted: "interrupted",
} as const satisfies Record<AttemptError, CauseName>;

const OF_STATUS: Record<number, CauseName> = {
  401: "signature_refused",
  403: "signature_refused",
  404: "wrong_route",
  405: "wrong_route",
  408: "body_timed_out",
  409: "duplicate_refused",
  410: "wrong_route",
  411: "length_required",
  413: "too_large",
  415: "wrong_media_type",
  429: "rate_limited",
  502: "gateway_error",
  503: "unavailable",
  504: "gateway_error",
};

export const CAUSES = {
  timed_out: {
    words: "No answer came in time",
    fix: "Store the event, answer 2xx, and do the work afterwards: the service waits 10 seconds.",
  },
  connection_refused: {
    words: "Nothing listened at the address",
    fix: "Start the receiver and check its port. One that listens only on ::1 or inside a container cannot be reached from here.",
  },
  connection_reset: {
    words: "The receiver cut the connection before it answered",
    fix: "Read the log of the receiver, and of the proxy in front of it: a crash or a limit ends a connection like this.",
  },
  connection_closed: {
    words: "The receiver closed the connection without a complete answer",
    fix: "Read the log of the receiver, and of the proxy in front of it: an exception that nothing catches ends a connection like this.",
  },
  unknown_host: {
    words: "The host name has no address",
    fix: "Correct the name, or wait until its DNS record has spread.",
  },
  tls_failed: {
    words: "The TLS connection failed, and nothing was sent",
    fix: "The certificate must be valid for this name, not expired, signed by a public authority and sent with its intermediate certificates. For an authority of your own, set NODE_EXTRA_CA_CERTS.",
  },
  not_http: {
    words: "The answer was not HTTP",
    fix: "Check the port and the scheme: something else listens there, or it expects https.",
  },
  interrupted: {
    words: "The simulator stopped during the attempt",
    fix: "Nothing to fix in the receiver: the next attempt follows.",
  },
  redirected: {
    words: "The receiver answered with a redirect",
    fix: "Redirects are failures and never followed: register the final address (https, trailing slash, host name).",
  },
  signature_refused: {
    words: "A signed delivery was refused as if it were forged",
    fix: "Give the receiver this endpoint's secret, hash the raw body exactly as received, before any parser, and exempt the route from CSRF checks and logins.",
  },
  wrong_route: {
    words: "The receiver takes no POST at this path",
    fix: "Register the path of the webhook route, and let it take POST.",
  },
  body_timed_out: {
    words: "The receiver did not wait for the whole body",
    fix: "Raise the time limit for reading a request to several seconds, in the receiver and in the proxy.",
  },
  duplicate_refused: {
    words: "A duplicate was refused",
    fix: "Answer 2xx to an event that is stored already: a refusal makes the service send it again.",
  },
  length_required: {
    words: "A body without Content-Length was refused",
    fix: "Accept chunked bodies, or let the proxy in front of the receiver collect them.",
  },
  too_large: {
    words: "The body was refused as too large",
    fix: "Raise the limit of the body parser and of the proxy to 1 MB.",
  },
  wrong_media_type: {
    words: "The Content-Type was refused",
    fix: "Read every body as raw bytes, under any Content-Type.",
  },
  rate_limited: {
    words: "The receiver refused because of too many requests",
    fix: "Exempt the webhook route from rate limits: store first, and let a queue do the work at its own pace.",
  },
  unfamiliar_refused: {
    words: "An event with a new field, type or value was refused",
    fix: "Acknowledge and ignore the unknown: new fields and types are not a breaking change (SPEC §9 Versioning).",
  },
  refused: {
    words: "A signed delivery was refused",
    fix: "Acknowledge every signed event that has an id, and judge its content afterwards: after a refusal, it is only sent again.",
  },
  server_error: {
    words: "The receiver failed with a server error",
    fix: "Read the receiver's log at the time of the attempt: an exception or a full or locked database causes most of these.",
  },
  gateway_error: {
    words: "A gateway got no answer from the receiver behind it",
    fix: "Check that the receiver runs behind the proxy and answers before the proxy's time limit.",
  },
  unavailable: {
    words: "The receiver was unavailable",
    fix: "It was starting, stopping or overloaded: read its log, and answer before the work.",
  },
  forgery_accepted: {
    words: "A delivery that the service did not sign was accepted",
    fix: "Verify X-Service-Signature over the raw body, compare digests in constant time, refuse a t more than 300 s away, and answer 401 (SPEC §6 Signature).",
  },
  forgery_not_refused: {
    words: "A delivery that the service did not sign was kept out, but not by a 4xx",
    fix: "Answer 401. A redirect or a 5xx means that it got too far, or that something failed on bytes that anyone can send.",
  },
  forgery_handled: {
    words: "A delivery that the service did not sign was handled",
    fix: "Verify the signature before the event is stored or queued, not beside it.",
  },
  never_handled: {
    words: "An acknowledged event was not handled",
    fix: "A 2xx ends the retries: commit the event before you answer, and look for an error in the handler or for a stopped worker.",
  },
  handled_twice: {
    words: "An event was handled more than once",
    fix: "Insert the event id under a unique constraint in the transaction of the effect, and do nothing if the id exists.",
  },
} as const satisfies Record<string, Cause>;
