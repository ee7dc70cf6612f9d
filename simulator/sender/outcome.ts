import type { AttemptError, Outcome } from "../domain/attempts.ts";
import { FORBIDDEN_ADDRESS } from "./connector.ts";

const BY_CODE: Record<string, AttemptError> = {
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  EAI_NODATA: "dns",
  [FORBIDDEN_ADDRESS]: "dns",
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "refused",
  ENETUNREACH: "refused",
  EADDRNOTAVAIL: "refused",
  ECONNRESET: "reset",
  EPIPE: "reset",
  ETIMEDOUT: "timeout",
  UND_ERR_SOCKET: "closed",
  UND_ERR_ABORTED: "closed",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "closed",
  EPROTO: "tls",
};

/** TLS and certificate failures have many codes and few shapes. */
const TLS_CODE =
  /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH)/;

/**
 * One word for whatever a request failed with. What is none of the known network failures is the answer's fault: an
 * impossible status line, for one, comes out of the client as an assertion.
 */
export function classifyError(error: unknown): Outcome {
  const cause = rootCause(error);
  const code = codeOf(cause);
  return { error: wordFor(code), detail: code === "" ? cause.message : `${code}: ${cause.message}` };
}

function wordFor(code: string): AttemptError {
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  return TLS_CODE.test(code) ? "tls" : "protocol";
}

/** A name with several addresses fails with all of their errors; the client wraps what its socket met. */
function rootCause(error: unknown): Error {
  if (error instanceof AggregateError) return rootCause(error.errors[0]);
  if (!(error instanceof Error)) return new Error(String(error));
  return error.cause instanceof Error ? rootCause(error.cause) : error;
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}
