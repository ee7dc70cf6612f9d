import { EVENT_TYPES } from "../../shared/events.ts";
import { sampleEnvelope } from "../../shared/samples.ts";
import { sign, signingKey } from "../../shared/signature.ts";
import { wireHeaders } from "../domain/attempt-request.ts";
import { requestBytes } from "../sender/request-bytes.ts";

/** Whole requests, each with an event of its own, every type in turn. */
export function createRequests(options: {
  url: URL;
  secret: string;
  /** 16 hexadecimal digits that no other run has. */
  runId: string;
  nowSeconds: () => number;
}) {
  const { runId, nowSeconds } = options;
  const url = options.url.href;
  const secret = signingKey(options.secret);
  return {
    /** The request with event `number` of this run, signed now: the same number has the same id. */
    bytes(number: number): Buffer {
      const created = nowSeconds();
      const id = `evt_${runId}${number.toString(16).padStart(16, "0")}`;
      const type = EVENT_TYPES[number % EVENT_TYPES.length] ?? EVENT_TYPES[0];
      const body = Buffer.from(JSON.stringify(sampleEnvelope(type, { id, created })));
      const signature = sign({ body, secret, timestampSeconds: created });
      return requestBytes({ url, headers: wireHeaders({ url, keepAlive: true, signature, body }), body });
    },
  };
}
