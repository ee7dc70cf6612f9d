import type Database from "better-sqlite3";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { systemClock, type Clock } from "../../clock.ts";
import type { Refusal } from "../../engine.ts";
import { unavailability } from "./database.ts";

type Question = { number: number; verb: string; given: unknown[]; nowMs: number };

/** A bug, or the end of the thread, is answered as `outcome_unknown`, too. */
type Answer<Result = never> = { ok: true; result: Result } | Refusal;

const CLOSED: Refusal = { ok: false, reason: "closed", detail: "The receiver is shutting down." };

/**
 * Asks a thread of our own, which runs `threadFile` on the database `file`, to do one of its verbs, with the time as the
 * asker has it. It starts with the first question. Should it die, the questions that it had are of unknown outcome, and the
 * next one starts a new thread.
 */
export function createThread<
  Verbs extends { [Verb in keyof Verbs]: (...given: never[]) => unknown },
>(options: { threadFile: URL; file: string; clock: Clock }) {
  const waiting = new Map<number, (answer: Answer) => void>();
  let asked = 0;
  let thread: Worker | undefined;
  let closed = false;

  return {
    /** Buffers in `moved` are transferred and not copied: the caller cannot use them any more. */
    ask: async <Verb extends keyof Verbs & string>(
      verb: Verb,
      given: Parameters<Verbs[Verb]>,
      moved: readonly ArrayBuffer[] = [],
    ): Promise<Answer<Awaited<ReturnType<Verbs[Verb]>>>> => {
      if (closed) return CLOSED;
      thread ??= start();
      const number = (asked += 1);
      const question: Question = { number, verb, given, nowMs: options.clock.nowMs() };
      thread.postMessage(question, moved);
      return new Promise((resolve) => waiting.set(number, resolve));
    },
    close: async (): Promise<void> => {
      closed = true;
      if (!thread) return;
      const ended = new Promise((resolve) => thread?.once("exit", resolve));
      thread.postMessage("close");
      await ended;
    },
  };

  function start(): Worker {
    const started = new Worker(options.threadFile, { workerData: options.file });
    let detail = "The thread ended.";
    started.on("message", ({ number, answer }: { number: number; answer: Answer }) => {
      waiting.get(number)?.(answer);
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
}

/** Makes a thread's verbs. A database given to `closing` is closed when the thread ends, or when one cannot be opened. */
type Open = (
  file: string,
  clock: Clock,
  closing: (db: Database.Database) => Database.Database,
) => Record<string, (...given: never[]) => unknown>;

/**
 * The thread's side: answers one question after the other, since two that write would only wait for each other. The first
 * question opens the databases; where that fails, it is refused with the reason, and the next question tries again.
 */
export function answerQuestions(open: Open): void {
  const port = parentPort;
  const file: unknown = workerData;
  if (!port || typeof file !== "string") throw new Error("This runs in a thread, given a file.");
  let nowMs = 0;
  let verbs: ReturnType<Open> | undefined;
  const opened: Database.Database[] = [];
  const close = (): void => opened.splice(0).forEach((db) => db.close());
  let last: Promise<unknown> = Promise.resolve();
  port.on("message", (question: (Question & { given: never[] }) | "close") => {
    last = last.then(async () => {
      if (question !== "close")
        return port.postMessage({ number: question.number, answer: await answer(file, question) });
      close();
      return port.close();
    });
  });

  async function answer(
    file: string,
    { verb, given, nowMs: askedAtMs }: Question & { given: never[] },
  ): Promise<Answer<unknown>> {
    nowMs = askedAtMs;
    try {
      verbs ??= open(file, { ...systemClock, nowMs: () => nowMs }, (db) => (opened.push(db), db));
      return { ok: true, result: await verbs[verb]?.(...given) };
    } catch (error) {
      if (!verbs) close();
      const detail = error instanceof Error ? error.message : String(error);
      return { ok: false, reason: unavailability(error) ?? "outcome_unknown", detail };
    }
  }
}
