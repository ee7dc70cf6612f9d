import { EVENT_TYPES, type EventType } from "../../shared/events.ts";
import { sampleEnvelope } from "../../shared/samples.ts";
import { sign, signingKey } from "../../shared/signature.ts";
import { wireHeaders } from "../domain/attempt-request.ts";
import { requestBytes } from "../sender/request-bytes.ts";

const PLACE_OF_ID = "f".repeat(32);
const PLACE_OF_SIGNATURE = "t=0";

/** Complete requests, each with its own event, every type in turn. Those of one type and second differ in two places. */
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
  let seconds = Number.NaN;
  let templates: { head: string; envelope: string }[] = [];
  return {
    /** The request with event `number` of this run, signed now: the same number has the same id. */
    bytes(number: number): Buffer {
      const now = nowSeconds();
      if (now !== seconds) {
        seconds = now;
        templates = EVENT_TYPES.map(template);
      }
      const { head = "", envelope = "" } = templates[number % templates.length] ?? {};
      const body = envelope.replace(PLACE_OF_ID, runId + number.toString(16).padStart(16, "0"));
      const signature = sign({ body, secret, timestampSeconds: seconds });
      return Buffer.from(head.replace(PLACE_OF_SIGNATURE, signature) + body);
    },
  };

  function template(type: EventType): { head: string; envelope: string } {
    const envelope = JSON.stringify(sampleEnvelope(type, { id: `evt_${PLACE_OF_ID}`, created: seconds }));
    const body = Buffer.from(envelope);
    const headers = wireHeaders({ url, keepAlive: true, signature: PLACE_OF_SIGNATURE, body });
    return { head: String(requestBytes({ url, headers, body: Buffer.alloc(0) })), envelope };
  }
}
