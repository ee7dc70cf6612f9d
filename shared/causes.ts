/**
 * Why a delivery failed, or was not handled as it should be: what happened, without ids, numbers, addresses and times. One
 * name, one sentence and one fix for the dashboard, for verify, for the command line and for the receiver's operator page.
 */

export type Cause = {
  /** What happened, as a sentence without a period. */
  words: string;
  /** What to do about it. */
  fix: string;
};

/** How an attempt ended: with a final status, or with the reason why there was none. */
export type Ending =
  | { status: number }
  | { error: "dns" | "refused" | "reset" | "closed" | "tls" | "timeout" | "protocol" | "interrupted" };

/** What a delivery was: as the service sends it, a copy of one before, one with something new in it, or not signed by it. */
export type Meaning = "genuine" | "duplicate" | "unfamiliar" | "forged";

export type CauseName = keyof typeof CAUSES;

/** Whether a delivery counts as done: any 2xx (SPEC §6 Retry policy). */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

/** What a 4xx says: the request is at fault. */
export function isRefusal(status: number): boolean {
  return status >= 400 && status <= 499;
}

/** Why an attempt is a failure of the receiver; undefined if the receiver did right. */
export function causeOf(ending: Ending, meaning: Meaning = "genuine"): CauseName | undefined {
  if ("error" in ending) return OF_ERROR[ending.error];
  const { status } = ending;
  const isTaken = isSuccess(status);
  const isRefused = isRefusal(status);
  if (meaning === "forged")
    return isTaken ? "forgery_accepted" : isRefused ? undefined : "forgery_not_refused";
  if (isTaken) return undefined;
  const named = OF_STATUS[status];
  const isOther = named === "signature_refused" || named === "rate_limited";
  if (meaning === "duplicate" && isRefused && !isOther) return "duplicate_refused";
  if (meaning === "unfamiliar" && isRefused && named === undefined) return "unfamiliar_refused";
  if (named !== undefined) return named;
  if (isRefused) return "refused";
  return status >= 500 ? "server_error" : "redirected";
}

const OF_ERROR = {
  dns: "unknown_host",
  refused: "connection_refused",
  reset: "connection_reset",
  closed: "connection_closed",
  tls: "tls_failed",
  timeout: "timed_out",
  protocol: "not_http",
  interrupted: "interrupted",
} as const satisfies Record<Extract<Ending, { error: string }>["error"], CauseName>;

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

/** Every cause with its words and its fix. */
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
    fix: "Correct the name, or wait until its DNS record is known everywhere.",
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
    fix: "Redirects are failures and never followed: register the address that answers itself (https, trailing slash, host name).",
  },
  signature_refused: {
    words: "A signed delivery was refused as if it were forged",
    fix: "Give the receiver this endpoint's secret, hash the raw body exactly as it came, before any parser, and exempt the route from CSRF checks and logins.",
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
    fix: "Take every body as raw bytes, whatever its Content-Type says.",
  },
  rate_limited: {
    words: "The receiver refused because of too many requests",
    fix: "Exempt the webhook route from rate limits: store first, and let a queue do the work at its own pace.",
  },
  unfamiliar_refused: {
    words: "An event with a new field, type or value was refused",
    fix: "Acknowledge what you do not know, and ignore it: new fields and types are no breaking change (SPEC §9 Versioning).",
  },
  refused: {
    words: "A signed delivery was refused",
    fix: "Acknowledge whatever is signed and has an id, and judge its content afterwards: a refusal is only repeated.",
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
    fix: "It starts, stops, or is overloaded: read its log, and keep the answer independent of the work.",
  },
  forgery_accepted: {
    words: "A delivery that the service did not sign was accepted",
    fix: "Verify X-Service-Signature over the raw body, compare digests in constant time, refuse a t more than 300 s away, and answer 401 (SPEC §6 Signature).",
  },
  forgery_not_refused: {
    words: "A delivery that the service did not sign was kept out, but not by a 4xx",
    fix: "Answer 401. A redirect or a 5xx means that it got further than it should, or that something broke on bytes that anyone can send.",
  },
  forgery_handled: {
    words: "A delivery that the service did not sign was handled",
    fix: "Verify the signature before the event is stored or queued, not beside it.",
  },
  never_handled: {
    words: "An acknowledged event was not handled",
    fix: "A 2xx ends the retries: commit the event before you answer, and look for an error in the handler or for a worker that stands still.",
  },
  handled_twice: {
    words: "An event was handled more than once",
    fix: "Insert the event id under a unique constraint in the transaction that holds the effect, and do nothing for an id that was there.",
  },
} as const satisfies Record<string, Cause>;

/** Characters of an error's text that are read, and that its cause keeps. */
const LONGEST_READ = 2_000;
const LONGEST_CAUSE = 200;

/**
 * What differs from one occurrence of an error to the next, and the mask in its place. A status comes first and stays,
 * since it says what happened.
 */
const VARYING: [pattern: RegExp, mask: (found: string) => string][] = [
  [
    /\b(?:status|code|HTTP|answered|returned|responded|response|with):? (?:code )?[1-5]\d\d\b/,
    (status) => status,
  ],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/, () => "<id>"],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?\b/, () => "<time>"],
  [/\b\d\d?:\d\d:\d\d\b/, () => "<time>"],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/, () => "<address>"],
  [/\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d{1,5}\b)?/, () => "<address>"],
  [/(?:\[[0-9a-f:.]{2,45}\]|(?<![\w:])::1\b)(?::\d{1,5}\b)?/, () => "<address>"],
  [/\w+/, (word) => (isId(word) ? "<id>" : word.replace(/^\d+/, "<number>"))],
];
const ANY = new RegExp(VARYING.map(([{ source }]) => `(${source})`).join("|"), "gi");

/**
 * The cause in an error's text: the same text for each occurrence of the same error, so that they can be counted together.
 * `Customer cus_9s6XKzkNRiz8 not found` becomes `Customer <id> not found`.
 */
export function causeOfError(text: string): string {
  return text
    .slice(0, LONGEST_READ)
    .replace(ANY, (found: string, ...groups: unknown[]) => {
      const mask = VARYING[groups.findIndex((group) => group !== undefined)]?.[1];
      return mask?.(found) ?? found;
    })
    .replaceAll(/<number>(?:[.,]<number>)+/g, "<number>")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, LONGEST_CAUSE);
}

/** An id has a prefix (`cus_…`), or mixes letters with several digits; a word of a program (`ERR_HTTP2`, `base64`) is none. */
function isId(word: string): boolean {
  const tail = word.slice(word.lastIndexOf("_") + 1);
  const hasPrefix = /^[a-z]{2,12}_/.test(word);
  const isMixed = /\d/.test(tail) || (/[a-z]/.test(tail) && /[A-Z]/.test(tail));
  if (hasPrefix && tail.length >= 6 && isMixed) return true;
  const digits = word.replaceAll(/\D/g, "").length;
  return word.length >= 8 && digits >= 3 && digits < word.length && !/^[A-Z]+_[A-Z0-9_]+$/.test(word);
}
