import { attemptRequest } from "../domain/attempt-request.ts";
import type { Attempt } from "../domain/attempts.ts";
import { faultsOnAttempt, type Fault } from "../domain/faults.ts";
import type { Readings } from "../domain/readings.ts";
import { requestBytes } from "../sender/request-bytes.ts";

/** A request as it stands on the wire. */
export type WireRequest = { line: string; headers: [string, string][]; body: Buffer };

/** What an attempt sends to `url`: the request line, and every header in its order. */
export function wireRequest(options: {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  keepAlive: boolean;
}): WireRequest {
  const { body } = options;
  const bytes = requestBytes({ ...options, url: new URL(options.url) });
  const head = bytes.subarray(0, bytes.byteLength - body.byteLength).toString("latin1");
  const [line = "", ...headers] = head.trimEnd().split("\r\n");
  return {
    line,
    headers: headers.map((header): [string, string] => {
      const colon = header.indexOf(": ");
      return [header.slice(0, colon), header.slice(colon + 2)];
    }),
    body,
  };
}

/** The same attempt as it would be made now: signed at this moment, and wrong in the same way if it was wrong. */
export function attemptAgain(options: {
  attempt: Pick<Attempt, "number">;
  faults: readonly Fault[];
  body: Buffer;
  url: string;
  secrets: readonly string[];
  wallNowMs: number;
  readings: Readings;
}): WireRequest {
  const { attempt, url } = options;
  const { number } = attempt;
  const again = attemptRequest({ ...options, number, faults: faultsOnAttempt(options.faults, number) });
  return wireRequest({ url, headers: again.headers, body: again.body, keepAlive: false });
}
