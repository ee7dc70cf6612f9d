import { EventEmitter } from "node:events";

export type JournalEntry = { id: number } & JournalMessage;

export type JournalMessage =
  | { kind: "event.created"; eventId: string }
  | { kind: "delivery.changed"; deliveryId: string }
  | { kind: "attempt.started"; deliveryId: string; number: number }
  /** `isJudged`: it does not change the verdict on its delivery. */
  | { kind: "attempt.ended"; deliveryId: string; number: number; isJudged: boolean }
  | { kind: "endpoint.changed"; endpointId: string }
  | { kind: "clock.changed" }
  | { kind: "job.changed"; jobId: string }
  | { kind: "verification.changed"; verificationId: number }
  | { kind: "check.done"; verificationId: number; checkId: string }
  | { kind: "reset" };

const KEPT_ENTRIES = 5_000;

export type Journal = ReturnType<typeof createJournal>;

/** Numbers changes, passes them to the watchers, and keeps the last ones for clients that reconnect. */
export function createJournal(options: { firstId: number }) {
  const emitter = new EventEmitter<{ entry: [JournalEntry] }>().setMaxListeners(0);
  const kept: JournalEntry[] = [];
  let nextId = options.firstId;

  return {
    write(message: JournalMessage): void {
      const entry = { id: nextId++, ...message };
      kept.push(entry);
      if (kept.length > KEPT_ENTRIES) kept.splice(0, KEPT_ENTRIES / 2);
      emitter.emit("entry", entry);
    },
    /** Calls `watcher` with every new entry; returns a function that stops it. */
    watch(watcher: (entry: JournalEntry) => void): () => void {
      emitter.on("entry", watcher);
      return () => emitter.off("entry", watcher);
    },
    /** The entries after `id`, or undefined if some of them were removed: the watcher must reload everything. */
    since(id: number): JournalEntry[] | undefined {
      const oldest = kept[0]?.id ?? nextId;
      return id < oldest - 1 || id >= nextId ? undefined : kept.filter((entry) => entry.id > id);
    },
    lastId: () => nextId - 1,
  };
}
