import type { Clock } from "../../clock.ts";
import type { Acceptance, Intake, NewEvent } from "../../engine.ts";
import { siblingFile } from "../../sibling-file.ts";
import { createThread } from "./thread.ts";

/** What the thread does: stores a batch as received when it was asked. */
export type WriterVerbs = { accept: (batch: readonly NewEvent[]) => Acceptance[] };

/**
 * Commits in a thread of its own, so that neither a slow disk nor a lock held by another process stops the event loop
 * that reads requests. Should the thread die, the batches that it had are of unknown outcome: they may be stored, and the
 * sender's retries are then duplicates.
 */
export function createWriter({
  clock,
  file,
  threadFile = siblingFile(import.meta.url, "writer-thread"),
}: {
  file: string;
  clock: Clock;
  threadFile?: URL | undefined;
}): Intake & { close: () => Promise<void> } {
  const thread = createThread<WriterVerbs>({ threadFile, file, clock });

  const accept: Intake["accept"] = async (batch) => {
    // Copied into buffers of their own, which are transferred: a request's body lies in a pool that holds others' too.
    const moved = batch.map((event) => ({ ...event, body: Uint8Array.from(event.body) }));
    const buffers = moved.map(({ body }) => body.buffer);
    const answer = await thread.ask("accept", [moved], buffers);
    return answer.ok ? { ok: true, acceptances: answer.result } : answer;
  };

  return {
    accept,
    probe: async () => {
      const result = await accept([]);
      return result.ok ? { ok: true } : result;
    },
    close: thread.close,
  };
}
