import { parentPort, Worker, workerData } from "node:worker_threads";

type Asked<Question> = { number: number; question: Question } | "close";
type Answered<Answer> = { number: number; answer: Answer };

export type Thread<Question, Answer> = {
  /** Buffers in `moved` are transferred and not copied: the caller cannot use them any more. */
  ask: (question: Question, moved?: readonly ArrayBuffer[]) => Promise<Answer>;
  close: () => Promise<void>;
};

type Served<Question, Answer> = {
  answer: (question: Question) => Answer | Promise<Answer>;
  close: () => void;
};

/**
 * Asks a thread of our own, which runs `threadFile` on the database `file`. It starts with the first question. Should it
 * die, `unanswered` is the answer to what it had in hand, and the next question gets a new one.
 */
export function createThread<Question, Answer>(options: {
  threadFile: URL;
  file: string;
  unanswered: (why: string) => Answer;
}): Thread<Question, Answer> {
  const waiting = new Map<number, (answer: Answer) => void>();
  let number = 0;
  let thread: Worker | undefined;

  return {
    ask: async (question, moved = []) => {
      thread ??= start();
      const mine = (number += 1);
      const answered = new Promise<Answer>((resolve) => waiting.set(mine, resolve));
      thread.postMessage({ number: mine, question } satisfies Asked<Question>, moved);
      return answered;
    },
    close: async () => {
      if (!thread) return;
      const ended = new Promise((resolve) => thread?.once("exit", resolve));
      thread.postMessage("close" satisfies Asked<Question>);
      await ended;
    },
  };

  function start(): Worker {
    const started = new Worker(options.threadFile, { workerData: options.file });
    let why = "The thread ended.";
    started.on("message", ({ number: answered, answer }: Answered<Answer>) => {
      waiting.get(answered)?.(answer);
      waiting.delete(answered);
    });
    started.on("error", (error) => {
      why = error instanceof Error ? error.message : String(error);
    });
    started.on("exit", () => {
      if (thread === started) thread = undefined;
      for (const resolve of waiting.values()) resolve(options.unanswered(why));
      waiting.clear();
    });
    return started;
  }
}

/** The thread's side: answers one question after the other, for two that write would only wait for each other. */
export function answerQuestions<Question, Answer>(open: (file: string) => Served<Question, Answer>): void {
  const port = parentPort;
  const file: unknown = workerData;
  if (!port || typeof file !== "string") throw new Error("This runs in a thread, given a file.");
  const { answer, close } = open(file);
  let last: Promise<unknown> = Promise.resolve();
  port.on("message", (asked: Asked<Question>) => {
    // An error that is none of the database's is a bug, and ends the thread.
    last = last.then(async () => {
      if (asked !== "close")
        return port.postMessage({ number: asked.number, answer: await answer(asked.question) });
      close();
      return port.close();
    });
  });
}
