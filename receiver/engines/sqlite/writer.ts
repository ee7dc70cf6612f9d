import { Worker } from "node:worker_threads";
import type { Clock } from "../../clock.ts";
import type { AcceptResult, Intake } from "../../engine.ts";
import { packBatch, type PackedBatch } from "./batch.ts";
import { siblingFile } from "../../sibling-file.ts";

export type WriterRequest = { number: number; nowMs: number; batch: PackedBatch } | "close";
export type WriterReply = { number: number; result: AcceptResult };

const CLOSED: AcceptResult = { ok: false, reason: "closed", detail: "The receiver is shutting down." };

/**
 * Commits in a thread of its own, so that neither a slow disk nor a lock held by another process stops the event loop
 * that reads requests. Should the thread die, what it had in hand is answered as of unknown outcome (it may be stored:
 * the sender's retry is then a duplicate) and the next batch gets a new thread.
 */
export function createWriter(options: {
  file: string;
  clock: Clock;
  threadFile?: URL | undefined;
}): Intake & { close: () => Promise<void> } {
  const threadFile = options.threadFile ?? siblingFile(import.meta.url, "writer-thread");
  const waiting = new Map<number, (result: AcceptResult) => void>();
  let number = 0;
  let closed = false;
  let thread: Worker | undefined;

  const accept: Intake["accept"] = async (batch) => {
    if (closed) return CLOSED;
    thread ??= start();
    const mine = (number += 1);
    const answered = new Promise<AcceptResult>((resolve) => waiting.set(mine, resolve));
    const packed = packBatch(batch);
    const request = { number: mine, nowMs: options.clock.nowMs(), batch: packed };
    thread.postMessage(request satisfies WriterRequest, [packed.bodies]);
    return answered;
  };

  function start(): Worker {
    const started = new Worker(threadFile, { workerData: options.file });
    let detail = "The writer thread ended.";
    started.on("message", ({ number, result }: WriterReply) => {
      waiting.get(number)?.(result);
      waiting.delete(number);
    });
    started.on("error", (error) => {
      detail = error instanceof Error ? error.message : String(error);
    });
    started.on("exit", () => {
      if (thread === started) thread = undefined;
      for (const resolve of waiting.values()) resolve({ ok: false, reason: "outcome_unknown", detail });
      waiting.clear();
    });
    return started;
  }

  return {
    accept,
    probe: async () => {
      const result = await accept([]);
      return result.ok ? { ok: true } : result;
    },
    close: async () => {
      closed = true;
      if (!thread) return;
      const ended = new Promise((resolve) => thread?.once("exit", resolve));
      thread.postMessage("close" satisfies WriterRequest);
      await ended;
    },
  };
}
