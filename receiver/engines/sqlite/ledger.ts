import { Worker } from "node:worker_threads";
import type { Clock } from "../../clock.ts";
import type { Ledger, RetryPolicy, Work } from "../../engine.ts";
import { siblingFile } from "../../sibling-file.ts";
import { crashBackoffsMs } from "../after-crash.ts";
import type { LedgerVerbs } from "./ledger-verbs.ts";

/** One verb for the thread, with the time as the asker has it. */
export type LedgerRequest =
  | { number: number; verb: keyof LedgerVerbs; nowMs: number; rest: never[] }
  | "close";

export type LedgerReply =
  | { number: number; ok: true; result: never }
  | { number: number; ok: false; message: string };

type Waiting = { resolve: (result: never) => void; reject: (error: Error) => void };

/**
 * Everything that operators ask and do, in a thread of its own: a list of a million events, a copy of the database or
 * the retention of a month then costs no acknowledgement and no handler a turn. The thread starts with the first call.
 */
export function createLedger(options: { file: string; clock: Clock; retry: RetryPolicy }): {
  ledger: Ledger;
  release: Work["release"];
  close: () => Promise<void>;
} {
  const { clock, retry } = options;
  const waiting = new Map<number, Waiting>();
  let number = 0;
  let thread: Worker | undefined;

  async function ask<Verb extends keyof LedgerVerbs>(
    verb: Verb,
    ...rest: Parameters<LedgerVerbs[Verb]> extends [number, ...infer Rest] ? Rest : never
  ): Promise<Awaited<ReturnType<LedgerVerbs[Verb]>>> {
    thread ??= start();
    const asked = (number += 1);
    const answered = new Promise<Awaited<ReturnType<LedgerVerbs[Verb]>>>((resolve, reject) => {
      waiting.set(asked, { resolve, reject });
    });
    thread.postMessage({ number: asked, verb, nowMs: clock.nowMs(), rest });
    return answered;
  }

  function start(): Worker {
    const started = new Worker(siblingFile(import.meta.url, "ledger-thread"), { workerData: options.file });
    let detail = "it ended";
    started.on("message", (reply: LedgerReply) => {
      const asker = waiting.get(reply.number);
      waiting.delete(reply.number);
      if (reply.ok) asker?.resolve(reply.result);
      else asker?.reject(new LedgerFailed(reply.message));
    });
    started.on("error", (error) => {
      detail = error instanceof Error ? error.message : String(error);
    });
    started.on("exit", () => {
      if (thread === started) thread = undefined;
      for (const { reject } of waiting.values())
        reject(new LedgerFailed(`The ledger's thread failed: ${detail}`));
      waiting.clear();
    });
    return started;
  }

  return {
    ledger: {
      find: async (id) => ask("find", id),
      body: async (seq) => ask("body", seq),
      list: async (filter, page) => ask("list", filter, page),
      requeue: async (ids) => ask("requeue", ids),
      prune: async (older) => ask("prune", older),
      counts: async () => ask("counts"),
      known: async (type, objectIds) => ask("known", type, objectIds),
      prunedBeforeMs: async () => ask("prunedBeforeMs"),
      bookmark: async (name) => ask("bookmark", name),
      setBookmark: async (name, value) => ask("setBookmark", name, value),
      check: async () => ask("check"),
      backup: async (directory) => ask("backup", directory),
    },
    release: async (workerId) => ask("release", workerId, crashBackoffsMs(retry)),
    close: async () => {
      if (!thread) return;
      const ended = new Promise((resolve) => thread?.once("exit", resolve));
      thread.postMessage("close" satisfies LedgerRequest);
      await ended;
    },
  };
}

/** The database could not do what an operator asked; the message says why. */
export class LedgerFailed extends Error {
  override readonly name = "LedgerFailed";
}
