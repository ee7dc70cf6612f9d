import type { Clock } from "../../clock.ts";
import type { Ledger } from "../../engine.ts";
import { namedError } from "../../named-error.ts";
import { siblingFile } from "../../sibling-file.ts";
import { createThread } from "./thread.ts";

/**
 * Everything that operators ask and do, in a thread of its own: a list of a million events, a copy of the database or
 * the retention of a month then costs no acknowledgement and no handler a turn. What the database could not do rejects
 * with `LedgerFailed`, whose message says why.
 */
export function createLedger({ file, clock }: { file: string; clock: Clock }): {
  ledger: Ledger;
  close: () => Promise<void>;
} {
  const threadFile = siblingFile(import.meta.url, "ledger-thread");
  const thread = createThread<Required<Ledger>>({ threadFile, file, clock });

  async function ask<Verb extends keyof Ledger>(verb: Verb, ...given: Parameters<Required<Ledger>[Verb]>) {
    const answer = await thread.ask(verb, given);
    if (!answer.ok) throw namedError("LedgerFailed", answer.detail);
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
