import type { Clock } from "../clock.ts";
import type { Acceptance, AcceptResult, Intake, NewEvent, Unavailable } from "../engine.ts";

/** Bounds on what waits for a commit, and on one commit. */
const MAXIMUM_WAITING_EVENTS = 10_000;
const MAXIMUM_WAITING_BYTES = 64 * 1_048_576;
const MAXIMUM_BATCH_EVENTS = 512;

/** A sender waits 10 s for its answer: one that can't be given by then had better be a clear no. */
const COMMIT_LIMIT_MS = 8_000;

export type Stored =
  | { ok: true; acceptance: Acceptance }
  | { ok: false; reason: Unavailable; detail: string };

export type GroupCommit = (event: NewEvent) => Promise<Stored>;

type Waiting = { event: NewEvent; answer: (stored: Stored) => void };

/**
 * Makes one commit out of the events that arrive while the previous one is being synced, so that a slow disk costs one
 * sync a round and not one an event. Answers each event after the commit that holds it. What is more than the bounds
 * is refused at once as `overloaded`; a commit that takes too long is answered as `timeout`, though it may yet succeed:
 * the sender's retry is then a duplicate.
 */
export function createGroupCommit({
  accept,
  clock,
}: {
  accept: Intake["accept"];
  clock: Clock;
}): GroupCommit {
  let waiting: Waiting[] = [];
  let waitingBytes = 0;
  let heldEvents = 0;
  let committing = false;

  return (event) =>
    new Promise((answer) => {
      if (
        heldEvents >= MAXIMUM_WAITING_EVENTS ||
        waitingBytes + event.body.byteLength > MAXIMUM_WAITING_BYTES
      ) {
        answer({ ok: false, reason: "overloaded", detail: "Too many events wait to be stored." });
        return;
      }
      waiting.push({ event, answer });
      waitingBytes += event.body.byteLength;
      heldEvents += 1;
      if (!committing) void commitAll();
    });

  async function commitAll(): Promise<void> {
    committing = true;
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAXIMUM_BATCH_EVENTS);
      waiting = waiting.slice(MAXIMUM_BATCH_EVENTS);
      await commit(batch);
      heldEvents -= batch.length;
      for (const { event } of batch) waitingBytes -= event.body.byteLength;
    }
    committing = false;
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    const answerAll = (result: AcceptResult): void => {
      for (const [index, { answer }] of batch.entries()) {
        const acceptance = result.ok ? result.acceptances[index] : undefined;
        if (acceptance) answer({ ok: true, acceptance });
        else if (!result.ok) answer(result);
      }
    };
    const cancel = clock.after(COMMIT_LIMIT_MS, () =>
      answerAll({ ok: false, reason: "timeout", detail: "The database took too long to commit." }),
    );
    try {
      answerAll(await accept(batch.map(({ event }) => event)));
    } catch (error) {
      answerAll({
        ok: false,
        reason: "io_error",
        detail: error instanceof Error ? error.message : String(error),
      });
    } finally {
      cancel();
    }
  }
}
