import { createHash } from "node:crypto";
import type { Database } from "./connection.ts";

/** Locked until it is known whether they are the same. */
const MARK = `
  UPDATE receiver.facts SET owners = $1 WHERE owners = '{}' OR owners && $1::text[] RETURNING 1`;
const FIND = `SELECT 1 FROM receiver.facts WHERE owners = $1`;

/**
 * Remembers whose inbox this is, by the secrets that its events were signed with, and refuses a receiver that has none of
 * them: another environment, whose handlers would handle these events. One that has no secrets is not asked.
 */
export async function refuseStrangers({ run }: Database, secrets: readonly string[]): Promise<void> {
  if (secrets.length === 0) return;
  const owners = secrets.map(fingerprint).toSorted();
  if ((await run(FIND, [owners])).length > 0) return;
  if ((await run(MARK, [owners])).length > 0) return;
  throw new Error(
    "This inbox belongs to a receiver with other signing secrets. Set DATABASE_SCHEMA to a name of this one's own, such as receiver_staging; or, if the secret was replaced, keep the old one beside it in SIGNING_SECRET until every process has both.",
  );
}

function fingerprint(secret: string): string {
  return createHash("sha256").update(`owner of an inbox: ${secret}`).digest("hex").slice(0, 16);
}
