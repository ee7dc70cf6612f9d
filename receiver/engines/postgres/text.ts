import { createHash } from "node:crypto";

/** What PostgreSQL can hold of a text: no zero bytes, no halves of surrogate pairs. Nothing that we ask for has either. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}

/** The id as PostgreSQL's 16 bytes: upper and lower case are the same. */
export function uuidOf(id: string): string {
  return id.slice("evt_".length).toLowerCase();
}

/** An object and the type of an event about it, as 16 bytes that only they have. */
export function objectKey(type: string, objectId: string): string {
  // JSON keeps what `storable` folds together apart.
  return createHash("sha256")
    .update(JSON.stringify([type, objectId]))
    .digest("hex")
    .slice(0, 32);
}

/** The id of an event, spelled as it came. */
export const ID = `coalesce(events.spelling, 'evt_' || replace(events.id::text, '-', ''))`;

/** Milliseconds of Unix time of a timestamp, in SQL. */
export function milliseconds(timestamp: string): string {
  return `floor(extract(epoch FROM ${timestamp}) * 1000)::bigint`;
}
