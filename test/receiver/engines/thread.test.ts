import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { createThread } from "../../../receiver/engines/sqlite/thread.ts";

/** A thread answers what it is asked, and what it has in hand when it dies is answered all the same. */

/** Says what it was asked, of which file and at what time, unless that makes it end, die, or wait for ever. */
const PROGRAM = `
  import { parentPort, workerData } from "node:worker_threads";
  parentPort.on("message", (asked) => {
    if (asked === "close") return parentPort.close();
    const { number, verb, given, nowMs } = asked;
    if (verb === "end") process.exit(0);
    if (verb === "die") throw new Error("it died");
    if (verb === "say") parentPort.postMessage({ number, answer: { ok: true, result: [workerData, nowMs, ...given] } });
  });`;

type Verbs = Record<"say" | "wait" | "end" | "die", (word?: string) => unknown[]>;

function start() {
  const thread = createThread<Verbs>({
    threadFile: new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`),
    file: "a.db",
    clock: { ...systemClock, nowMs: () => 7 },
  });
  onTestFinished(thread.close);
  const said = (word: string) => ({ ok: true, result: ["a.db", 7, word] });
  return { ...thread, said };
}

const lost = (detail: string) => ({ ok: false, reason: "outcome_unknown", detail });

test.each([
  ["die", lost("it died")],
  ["end", lost("The thread ended.")],
] as const)(
  "what a thread that is to %s has in hand is of unknown outcome, and the next question is a new one's",
  async (how, unknown) => {
    const { ask, said } = start();
    expect(await ask("say", ["one"])).toEqual(said("one"));
    const asked = [ask("wait", []), ask("say", ["two"]), ask(how, [])];
    expect(await Promise.all(asked)).toEqual([unknown, said("two"), unknown]);
    const more = [ask("say", ["three"]), ask("say", ["four"])];
    expect(await Promise.all(more)).toEqual([said("three"), said("four")]);
  },
);

test("a thread that is closed answers what it had in hand, and nothing more; one that nobody has asked need not be", async () => {
  const { ask, close } = start();
  const waiting = ask("wait", []);
  await close();
  expect(await waiting).toEqual(lost("The thread ended."));
  const unasked = start();
  await unasked.close();
  for (const late of [ask, unasked.ask])
    expect(await late("say", ["x"])).toMatchObject({ ok: false, reason: "closed" });
});
