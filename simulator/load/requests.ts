import { EVENT_TYPES } from "../../shared/events.ts";
import { sampleEnvelope } from "../../shared/samples.ts";
import { sign, signingKey } from "../../shared/signature.ts";
import { wireHeaders } from "../domain/attempt-request.ts";
import { requestBytes } from "../sender/request-bytes.ts";

const ID_DIGITS = 16;
const PLACE_OF_ID = "f".repeat(ID_DIGITS);
const DIGEST_DIGITS = 64;
const PLACE_OF_DIGEST = "0".repeat(DIGEST_DIGITS);

/**
 * Whole requests, each with an event of its own, every type in turn. Of one type they differ in the id and the signature
 * alone, so they are made by writing those into a copy, which takes a fraction of the time of making them up.
 */
export function createRequests(options: {
  url: URL;
  secret: string;
  /** 16 hexadecimal digits that no other run has. */
  runId: string;
  nowSeconds: () => number;
}) {
  const { nowSeconds } = options;
  let madeAtSeconds = Number.NaN;
  let templates: ReturnType<typeof createTemplate>[] = [];

  return {
    /** The request with event `number` of this run, signed now: the same number has the same id. */
    bytes(number: number): Buffer {
      const seconds = nowSeconds();
      if (seconds !== madeAtSeconds) {
        madeAtSeconds = seconds;
        templates = EVENT_TYPES.map((type) => createTemplate({ ...options, type, seconds }));
      }
      const template = templates[number % templates.length];
      if (template === undefined) throw new Error("There is no event type.");
      return template(number.toString(16).padStart(ID_DIGITS, "0"));
    },
  };
}

/** Requests of one type within one second. */
function createTemplate(options: {
  url: URL;
  secret: string;
  runId: string;
  type: (typeof EVENT_TYPES)[number];
  seconds: number;
}): (digits: string) => Buffer {
  const { url, runId, type, seconds: timestampSeconds } = options;
  const secret = signingKey(options.secret);
  const envelope = sampleEnvelope(type, { id: `evt_${runId}${PLACE_OF_ID}`, created: timestampSeconds });
  const body = Buffer.from(JSON.stringify(envelope));
  const signature = `t=${timestampSeconds},v1=${PLACE_OF_DIGEST}`;
  const headers = wireHeaders({ url: url.href, keepAlive: true, signature, body });
  const template = requestBytes({ url: url.href, headers, body });
  const bodyAt = template.byteLength - body.byteLength;
  const idAt = template.indexOf(PLACE_OF_ID, bodyAt);
  const digestAt = template.indexOf(PLACE_OF_DIGEST);

  return (digits) => {
    const bytes = Buffer.allocUnsafe(template.byteLength);
    bytes.set(template);
    bytes.write(digits, idAt, "latin1");
    const signed = sign({ body: bytes.subarray(bodyAt), secret, timestampSeconds });
    bytes.write(signed.slice(-DIGEST_DIGITS), digestAt, "latin1");
    return bytes;
  };
}
