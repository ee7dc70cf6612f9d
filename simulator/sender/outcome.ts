import type { AttemptError, Failure, Outcome } from "../domain/outcome.ts";
import { FORBIDDEN_ADDRESS } from "./connect.ts";
import { codeOf } from "../text/errors.ts";

const BY_CODE: Record<string, AttemptError> = {
  ENOTFOUND: "dns",
  [FORBIDDEN_ADDRESS]: "dns",
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "refused",
  EHOSTDOWN: "refused",
  ENETUNREACH: "refused",
  ENETDOWN: "refused",
  EADDRNOTAVAIL: "refused",
  EACCES: "refused",
  EPERM: "refused",
  ECONNRESET: "reset",
  ECONNABORTED: "reset",
  EPIPE: "reset",
  ETIMEDOUT: "timeout",
  EPROTO: "tls",
};

/** Name servers, TLS and certificates fail with many codes of few shapes. */
const DNS_CODE = /^(?:EAI_|EDNS)/;
const TLS_CODE =
  /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH)/;

/** Errors of certificates whose authority is unknown. */
const UNKNOWN_AUTHORITY = /^(?:UNABLE_TO_(?:GET_ISSUER|VERIFY)|DEPTH_ZERO|SELF_SIGNED)/;

/** Node.js's message when the other side closes during the TLS handshake; its code is that of a reset. */
const HANDSHAKE_ENDED = /before secure TLS connection/;

/** A final status is the outcome; a status outside HTTP (`099`) is not an answer. */
export function classifyStatus(status: number): Outcome {
  return status >= 200 ? { status } : { error: "protocol", detail: `${status} is not a final status` };
}

/** The outcome for an error of a request. Unknown errors count as a broken answer (`protocol`). */
export function classifyError(error: unknown): Failure {
  const cause = rootCause(error);
  const code = codeOf(cause);
  const hint = UNKNOWN_AUTHORITY.test(code) ? " (for an authority of your own, set NODE_EXTRA_CA_CERTS)" : "";
  const detail = code === "" ? cause.message : `${code}: ${cause.message}${hint}`;
  return { error: wordFor(code, cause), detail };
}

/** The failure as the end of a sentence, in the words of the system if it has any. */
export function failureWords({ error, detail = error }: Failure): string {
  return detail.startsWith("ECONNREFUSED") ? "connection refused" : detail.replace(/^[A-Z][A-Z0-9_]+: /, "");
}

function wordFor(code: string, cause: Error): AttemptError {
  if (code === "ECONNRESET" && HANDSHAKE_ENDED.test(cause.message)) return "tls";
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (DNS_CODE.test(code)) return "dns";
  return TLS_CODE.test(code) ? "tls" : "protocol";
}

/** A name with several addresses fails with all of their errors. */
function rootCause(error: unknown): Error {
  if (error instanceof AggregateError) return rootCause(error.errors[0]);
  if (!(error instanceof Error)) return new Error(String(error));
  return error.cause instanceof Error ? rootCause(error.cause) : error;
}
