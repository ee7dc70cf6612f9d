import { randomBytes } from "node:crypto";
import type { NewEvent } from "../../receiver/store/port.ts";

/** How many senders wait for an answer at a time. */
export const CLIENTS = 64;

export const ROW_TABLE = "CREATE TABLE IF NOT EXISTS effects (event_id text, attempt bigint)";

const KEYS = 1_000;

/** An event of half a KiB, of one of 1,000 phones. */
export function eventOf(n: number): NewEvent {
  const id = `evt_${randomBytes(16).toString("hex")}`;
  const type = "order.created";
  const object = { id: `order_${String(n)}`, phone: `+1555${String(n % KEYS)}`, note: "x".repeat(350) };
  const envelope = { id, type, created: 1_767_225_600, api_version: "v1", org_id: "org_1", data: { object } };
  const body = Buffer.from(JSON.stringify(envelope));
  return { id, type, objectId: object.id, source: "webhook", body, envelope };
}
