import { expect, onTestFinished, test } from "vitest";
import { createThread } from "../../../receiver/engines/sqlite/thread.ts";

/** A thread answers what it is asked, and what it has in hand when it dies is answered all the same. */

/** Answers its file and what it was asked, each in a turn of its own; dies of a question that is an error's message. */
const PROGRAM = `
  import { parentPort, workerData } from "node:worker_threads";
  parentPort.on("message", (asked) => {
    if (asked === "close") return parentPort.close();
    if (asked.question === "end") process.exit(0);
    if (asked.question.startsWith("die")) throw new Error(asked.question);
    if (asked.question !== "later") parentPort.postMessage({ number: asked.number, answer: workerData + " " + asked.question });
  });`;

function start() {
  const thread = createThread<string, string>({
    threadFile: new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`),
    file: "a.db",
    unanswered: (why) => `unanswered: ${why}`,
  });
  onTestFinished(thread.close);
  return thread;
}

test.each([
  ["dies", "die of it", "unanswered: die of it"],
  ["ends", "end", "unanswered: The thread ended."],
])(
  "what a thread that %s had in hand is answered with the reason, and the next question by a new one",
  async (_how, last, why) => {
    const { ask } = start();
    expect(await ask("one")).toBe("a.db one");
    expect(await Promise.all([ask("later"), ask("two"), ask(last)])).toEqual([why, "a.db two", why]);
    expect(await Promise.all([ask("three"), ask("four")])).toEqual(["a.db three", "a.db four"]);
  },
);

test("a thread that nobody has asked is none, and one that is closed answers nothing more", async () => {
  const { ask, close } = start();
  await close();
  const waiting = ask("later");
  await close();
  expect(await waiting).toBe("unanswered: The thread ended.");
});
