import type { Clock } from "../../clock.ts";
import type { Ledger } from "../../engine.ts";
import { siblingFile } from "../../sibling-file.ts";
import { createThread } from "./thread.ts";

/** One verb for the thread, with the time as the asker has it. */
export type LedgerQuestion = { verb: keyof Ledger; nowMs: number; given: unknown[] };

export type LedgerAnswer<Result = never> = { ok: true; result: Result } | { ok: false; message: string };

/**
 * Everything that operators ask and do, in a thread of its own: a list of a million events, a copy of the database or
 * the retention of a month then costs no acknowledgement and no handler a turn.
 */
export function createLedger({ file, clock }: { file: string; clock: Clock }): {
  ledger: Ledger;
  close: () => Promise<void>;
} {
  const thread = createThread<LedgerQuestion, LedgerAnswer>({
    threadFile: siblingFile(import.meta.url, "ledger-thread"),
    file,
    unanswered: (why) => ({ ok: false, message: `The ledger's thread failed: ${why}` }),
  });

  async function ask<Verb extends keyof Ledger>(
    verb: Verb,
    ...given: Parameters<Required<Ledger>[Verb]>
  ): Promise<Awaited<ReturnType<Required<Ledger>[Verb]>>> {
    const answer = await thread.ask({ verb, nowMs: clock.nowMs(), given });
    if (!answer.ok) throw new LedgerFailed(answer.message);
    return answer.result;
  }

  return {
    ledger: {
      find: async (id) => ask("find", id),
      body: async (seq) => ask("body", seq),
      list: async (filter, page) => ask("list", filter, page),
      requeue: async (ids, handler) => ask("requeue", ids, handler),
      handlers: async () => ask("handlers"),
      prune: async (older) => ask("prune", older),
      counts: async () => ask("counts"),
      known: async (type, objectIds) => ask("known", type, objectIds),
      prunedBeforeMs: async () => ask("prunedBeforeMs"),
      bookmark: async (name) => ask("bookmark", name),
      setBookmark: async (name, value) => ask("setBookmark", name, value),
      check: async () => ask("check"),
      backup: async (directory) => ask("backup", directory),
    },
    close: thread.close,
  };
}

/** The database could not do what an operator asked; the message says why. */
export class LedgerFailed extends Error {
  override readonly name = "LedgerFailed";
}
