import { hash } from "node:crypto";
import type { Clock } from "../clock.ts";
import { refusalOf, type DatabaseFile } from "./database.ts";
import type { Acceptance, Intake, NewEvent } from "./port.ts";
import type { Announcement, Queue } from "./jobs.ts";
import { bytesOfId, TOUCH } from "./schema.ts";

const INSERT = `
  INSERT INTO events (id, type, object_id, source, received_at_ms, body)
  VALUES ($id, $type, $objectId, $source, $nowMs, $body) ON CONFLICT (id) DO NOTHING`;
// An event that reconcile enqueued has an id of its own: it is recognized by its object.
const FIND_TWIN = `
  SELECT seq FROM events WHERE object_id = $objectId AND type = $type AND object_id IS NOT NULL
    AND (source = 'reconcile' OR $source = 'reconcile') LIMIT 1`;
const COUNT_DUPLICATE = `UPDATE events SET duplicates = duplicates + 1 WHERE id = ? RETURNING body`;
const COUNT_TWIN = `UPDATE events SET duplicates = duplicates + 1, alias = coalesce(alias, ?) WHERE seq = ?`;

/**
 * Takes events: one transaction for all that arrived together, then one sync of the log, then the answer. A sync that began
 * before a commit does not count for it, so each batch waits for a sync of its own, also one of duplicates alone.
 */
export function createIntake({ db, write, log }: DatabaseFile, queue: Queue, clock: Clock): Intake {
  const insert = db.prepare<[Record<string, unknown>]>(INSERT);
  const findTwin = db.prepare<[Record<string, unknown>], number>(FIND_TWIN).pluck();
  const countDuplicate = db.prepare<[Buffer], Buffer | null>(COUNT_DUPLICATE).pluck();
  const countTwin = db.prepare<[Buffer | null, number]>(COUNT_TWIN);
  const touch = db.prepare(TOUCH);

  return {
    accept: async (batch) => {
      try {
        const { sync } = await log();
        const acceptances = await write(() => {
          const latest = queue.announced();
          return batch.map((event) => store(event, latest));
        });
        await sync();
        return { ok: true, acceptances };
      } catch (error) {
        return refusalOf(error);
      }
    },
    probe: async () => {
      try {
        await log();
        await write(() => touch.run());
        return { ok: true };
      } catch (error) {
        return refusalOf(error);
      }
    },
  };

  function store(event: NewEvent, { announced, handlers }: Announcement): Acceptance {
    const { id, type, objectId, source, body, envelope } = event;
    const bytes = bytesOfId(id);
    const nowMs = clock.nowMs();
    const twin = objectId === null ? undefined : findTwin.get({ objectId, type, source });
    if (twin !== undefined) {
      const duplicate = countDuplicate.get(bytes);
      if (duplicate === undefined) countTwin.run(source === "webhook" ? bytes : null, twin);
      return { duplicate: true };
    }
    const values = { id: bytes, type, objectId, source, nowMs, body };
    const { changes, lastInsertRowid } = insert.run(values);
    if (changes === 0) return { duplicate: true, ...differenceOf(countDuplicate.get(bytes), body) };
    // Before the first announcement nobody knows whether it is wanted.
    const seq = Number(lastInsertRowid);
    if (announced > 0 && queue.add({ seq, type, envelope }, handlers, nowMs) === 0) queue.ignore(seq, nowMs);
    return { duplicate: false };
  }
}

/** A body that is pruned cannot be compared. */
function differenceOf(stored: Buffer | null | undefined, received: Uint8Array): Pick<Acceptance, "differs"> {
  if (!stored || stored.equals(received)) return {};
  return { differs: { storedSha256: hash("sha256", stored), receivedSha256: hash("sha256", received) } };
}
