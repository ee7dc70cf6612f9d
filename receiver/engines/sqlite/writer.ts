import { parentPort, Worker, workerData } from "node:worker_threads";
import type Database from "better-sqlite3";
import type { AcceptResult, NewEvent } from "../../engine.ts";
import { checkSynchronous, unavailability } from "./database.ts";
import { createAccept, openInboxFile } from "./inbox-file.ts";

/** How long a commit waits for the short transactions of other processes. Only this thread waits. */
const BUSY_TIMEOUT_MS = 2_000;

type Request = { number: number; batch: readonly NewEvent[] };
type Reply = { number: number; result: AcceptResult };

export type Writer = {
  accept: (batch: readonly NewEvent[]) => Promise<AcceptResult>;
  close: () => Promise<void>;
};

/** The file of the thread, with the extension of the file that is running: `.ts` from the sources, `.js` once built. */
const THREAD_FILE = new URL(
  `./writer-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);

/**
 * Commits in a thread of its own, so that neither a slow disk nor a lock held by another process stops the event loop
 * that reads requests. Should the thread die, what it had in hand is answered as an I/O error (it may be stored: the
 * sender's retry is then a duplicate) and the next batch gets a new thread.
 */
export function createWriter({
  file,
  threadFile = THREAD_FILE,
}: {
  file: string;
  threadFile?: URL | undefined;
}): Writer {
  const waiting = new Map<number, (result: AcceptResult) => void>();
  let number = 0;
  let closed = false;
  let thread: Worker | undefined;

  return { accept, close };

  async function accept(batch: readonly NewEvent[]): Promise<AcceptResult> {
    if (closed) return { ok: false, reason: "closed", detail: "The receiver is shutting down." };
    thread ??= start();
    const mine = (number += 1);
    const answered = new Promise<AcceptResult>((resolve) => waiting.set(mine, resolve));
    thread.postMessage({ number: mine, batch } satisfies Request);
    return answered;
  }

  function start(): Worker {
    const started = new Worker(threadFile, { workerData: file });
    let detail = "The writer thread ended.";
    started.on("message", ({ number, result }: Reply) => {
      waiting.get(number)?.(result);
      waiting.delete(number);
    });
    started.on("error", (error) => {
      detail = error instanceof Error ? error.message : String(error);
    });
    started.on("exit", () => {
      if (thread === started) thread = undefined;
      for (const resolve of waiting.values()) resolve({ ok: false, reason: "io_error", detail });
      waiting.clear();
    });
    return started;
  }

  async function close(): Promise<void> {
    closed = true;
    if (!thread) return;
    const ended = new Promise((resolve) => thread?.once("exit", resolve));
    thread.postMessage("close");
    await ended;
  }
}

/** The one connection that events are stored through: every commit on it is synced before it returns. */
export function openForWriting(file: string): Database.Database {
  const db = openInboxFile({ file, synchronous: "FULL", busyTimeoutMs: BUSY_TIMEOUT_MS });
  createAccept(db)([]);
  checkSynchronous(db, "FULL");
  return db;
}

/** The thread's side. The hooks are for tests: of a database in trouble, and of a process that ends in mid-commit. */
export function serveWriter(
  hooks: { onOpen?: (db: Database.Database) => void; beforeCommit?: () => void } = {},
): void {
  const port = parentPort;
  if (!port) throw new Error("serveWriter() runs in a worker thread.");
  const file: unknown = workerData;
  if (typeof file !== "string") throw new Error("serveWriter() is started with the name of the inbox file.");
  const db = openForWriting(file);
  hooks.onOpen?.(db);
  const accept = createAccept(db, hooks);

  port.on("message", (message: Request | "close") => {
    if (message === "close") {
      db.close();
      port.close();
      return;
    }
    port.postMessage({ number: message.number, result: tryAccept(message.batch) } satisfies Reply);
  });

  function tryAccept(batch: readonly NewEvent[]): AcceptResult {
    try {
      return { ok: true, acceptances: accept(batch) };
    } catch (error) {
      const reason = unavailability(error);
      if (reason === undefined) throw error;
      return { ok: false, reason, detail: error instanceof Error ? error.message : String(error) };
    }
  }
}
