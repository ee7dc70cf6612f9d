import { randomBytes } from "node:crypto";
import { Agent, fetch, type Response } from "undici";
import type { EventType } from "../../../shared/events.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { SIGNATURE_HEADER, sign } from "../../../shared/signature.ts";

export const SECRET = "whsec_test_4d1f0c7b9a";

export function newEventId(): string {
  return `evt_${randomBytes(16).toString("hex")}`;
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}

/** A valid envelope with an id and an object of its own, as the bytes that are signed. */
export function newBody(type: EventType = "call.completed", overrides: Record<string, unknown> = {}): Buffer {
  const { object } = sampleEnvelope(type).data;
  const data = {
    object: { ...object, id: `${String(object["id"]).split("_")[0]}_${randomBytes(8).toString("hex")}` },
  };
  return Buffer.from(JSON.stringify({ ...sampleEnvelope(type), id: newEventId(), data, ...overrides }));
}

export function idOf(body: Uint8Array): string {
  return (JSON.parse(Buffer.from(body).toString("utf8")) as { id: string }).id;
}

export function signatureFor(
  body: Uint8Array,
  options: { secret?: string; timestampSeconds?: number } = {},
): string {
  return sign({
    body,
    secret: options.secret ?? SECRET,
    timestampSeconds: options.timestampSeconds ?? nowSeconds(),
  });
}

/** A connection for each request: a keep-alive connection would delay every shutdown until it is idle long enough. */
const dispatcher = new Agent({ pipelining: 0 });

export async function get(url: string | URL): Promise<Response> {
  return fetch(url, { dispatcher });
}

/** Posts `body` the way the service does. */
export async function post(url: string, body: Uint8Array, signature = signatureFor(body)): Promise<Response> {
  return fetch(url, {
    dispatcher,
    method: "POST",
    body: Buffer.from(body),
    headers: { "content-type": "application/json", [SIGNATURE_HEADER]: signature },
  });
}
