import { LEASE_MS, type EventSource, type EventState } from "../../engine.ts";
import type { MovedAlias, MovedEvent } from "../moved-event.ts";
import { openReader } from "./database.ts";
import { idOf, keyOf, MOVED_TO, openInboxFile } from "./inbox-file.ts";
import { workFileOf } from "./work-file.ts";

const FIND_IDENTITY = `SELECT pair, pruned_before_ms AS prunedBeforeMs FROM identity`;
const LIST_SEQS = `SELECT seq FROM events WHERE seq > ? ORDER BY seq LIMIT ?`;
const FIND_SEQ = `SELECT seq FROM events WHERE key = ?`;
const FIND_EVENT = `
  SELECT key, type, object_id, source, received_at_ms, duplicates, handled, body FROM events WHERE seq = ?`;
const FIND_WORK = `
  SELECT state, attempts, crashes, handled, due_at_ms, finished_at_ms, last_error FROM work WHERE seq = ?`;
const LIST_ALIASES = `
  SELECT aliases.key, events.key AS of, aliases.received_at_ms FROM aliases JOIN events USING (seq)`;
const LIST_BOOKMARKS = `SELECT name, value FROM bookmarks WHERE name <> '${MOVED_TO}'`;
const LIST_WORKERS = `SELECT id FROM workers WHERE lease_until_ms > ? AND lease_until_ms <= ?`;
const SET_MOVED_TO = `
  INSERT INTO bookmarks VALUES ('${MOVED_TO}', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/** How long the mark may wait for an acknowledgement's commit. */
const BUSY_TIMEOUT_MS = 5_000;

type EventRow = {
  key: Buffer;
  type: string;
  object_id: string | null;
  source: EventSource;
  received_at_ms: number;
  duplicates: number;
  handled: number | null;
  body: Buffer | null;
};

type WorkRow = {
  state: EventState;
  attempts: number;
  crashes: number;
  handled: number;
  due_at_ms: number | null;
  finished_at_ms: number | null;
  last_error: string | null;
};

export type LeavingInbox = ReturnType<typeof openLeaving>;

/** Reads what another engine takes over from the inbox `file`, beside the receiver that uses it. Throws where there is none. */
export function openLeaving(file: string) {
  const inbox = openReader(file);
  const db = openReader(workFileOf(file));
  const findIdentity = inbox.prepare<[], { pair: string; prunedBeforeMs: number }>(FIND_IDENTITY);
  const listSeqs = inbox.prepare<[number, number], number>(LIST_SEQS).pluck();
  const findSeq = inbox.prepare<[Buffer], number>(FIND_SEQ).pluck();
  const findEvent = inbox.prepare<[number], EventRow>(FIND_EVENT);
  const findWork = db.prepare<[number], WorkRow>(FIND_WORK);

  return {
    /** Which inbox it is, among all there are. */
    identity: findIdentity.get()?.pair ?? "",
    prunedBeforeMs: (): number => findIdentity.get()?.prunedBeforeMs ?? 0,
    /** The next events in the order of their arrival. */
    after: (seq: number, limit: number): MovedEvent[] => listSeqs.all(seq, limit).flatMap(read),
    find: (id: string): MovedEvent | undefined => {
      const seq = findSeq.get(keyOf(id));
      return seq === undefined ? undefined : read(seq)[0];
    },
    aliases: (): MovedAlias[] =>
      inbox
        .prepare<[], { key: Buffer; of: Buffer; received_at_ms: number }>(LIST_ALIASES)
        .all()
        .map((row) => ({ id: idOf(row.key), of: idOf(row.of), receivedAtMs: row.received_at_ms })),
    bookmarks: (): { name: string; value: string }[] =>
      inbox.prepare<[], { name: string; value: string }>(LIST_BOOKMARKS).all(),
    /** Those whose lease runs; one that ends further ahead than any is of a clock that was turned back. */
    workers: (nowMs: number): string[] =>
      db
        .prepare<[number, number], string>(LIST_WORKERS)
        .pluck()
        .all(nowMs, nowMs + LEASE_MS),
    /** From here on no receiver starts on these files. */
    leave: (to: string): void => {
      const writer = openInboxFile({ file, busyTimeoutMs: BUSY_TIMEOUT_MS });
      try {
        writer.prepare<[string]>(SET_MOVED_TO).run(to);
      } finally {
        writer.close();
      }
    },
    close: (): void => {
      inbox.close();
      db.close();
    },
  };

  function read(seq: number): MovedEvent[] {
    // In this order: retention deletes the work only once the body is forgotten, and without either row an event is new.
    const work = findWork.get(seq);
    const event = findEvent.get(seq);
    if (!event) return [];
    const isPruned = event.body === null || work?.state === "pruned";
    return [
      {
        seq,
        id: idOf(event.key),
        type: event.type,
        objectId: event.object_id,
        source: event.source,
        receivedAtMs: event.received_at_ms,
        duplicates: event.duplicates,
        state: isPruned ? "pruned" : (work?.state ?? "pending"),
        attempts: work?.attempts ?? 0,
        crashes: work?.crashes ?? 0,
        handled: event.handled ?? work?.handled ?? 0,
        dueAtMs: work?.due_at_ms ?? null,
        finishedAtMs: work?.finished_at_ms ?? null,
        lastError: work?.last_error ?? null,
        body: isPruned ? null : event.body,
      },
    ];
  }
}
