import { createHash } from "node:crypto";
import { administer } from "../../helpers/postgres/shared.ts";

/**
 * Makes of a database one as the receiver made it before a job's priority said whether it has a key: `waiting` are the
 * ids of jobs of handlers with a key, and what each of them waits for.
 */
export async function makeVersion3(
  url: string,
  waiting: readonly { id: string; for: "its key" | "its turn" | "another attempt" }[],
  key: string,
): Promise<void> {
  const hash = createHash("sha256").update(key).digest("hex");
  const keyed = (id: string): string =>
    `WHERE id IN (SELECT lpad(to_hex(seq), 32, '0')::uuid FROM receiver.ids WHERE id = '${id.slice(4)}')`;
  const set = {
    "its key": "blocked = true",
    "its turn": `policy = 'key_strict_fifo', singleton_key = '${hash}'`,
    "another attempt": `policy = 'key_strict_fifo', singleton_key = '${hash}', priority = 1, state = 'retry', started_on = now()`,
  };
  await administer(
    url,
    `ALTER TABLE receiver.handlers DROP COLUMN seen;
     ALTER TABLE receiver.handlers RENAME COLUMN has_key TO keyed;
     DROP INDEX receiver.events_dead;
     ALTER TABLE receiver.facts DROP COLUMN one;
     CREATE INDEX receiver_keyless ON receiver_boss.job (name, id) WHERE blocked AND state < 'active';
     UPDATE receiver.migrations SET applied = 3 WHERE name = 'receiver';
     ${waiting.map((job) => `UPDATE receiver_boss.job SET ${set[job.for]} ${keyed(job.id)};`).join("")}`,
  );
}
