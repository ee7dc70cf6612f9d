import { Worker } from "node:worker_threads";
import { beforeEach, expect } from "vitest";

/**
 * The time-out of a test is a timer. A test whose event loop never turns, in a loop of microtasks for example, would run
 * for ever. So a thread watches the event loop of each worker of vitest: if it does not turn for LIMIT_SECONDS, the thread
 * prints the test's name and kills the worker, and vitest fails the run.
 */
const LIMIT_SECONDS = Number(process.env["EVENT_LOOP_LIMIT_SECONDS"] ?? 120);

const THREAD = `
  const { workerData: { turns, name, limitSeconds } } = require("node:worker_threads");
  let seen = -1;
  for (let seconds = 0; seconds < limitSeconds; seconds += 1) {
    Atomics.wait(turns, 1, 0, 1_000);
    if (turns[0] !== seen) seconds = 0;
    seen = turns[0];
  }
  const test = Buffer.from(name).toString().replace(/\\0.*/s, "");
  const text = "The event loop did not turn for " + limitSeconds + " s, so the worker was killed: " + test;
  require("node:fs").writeSync(2, "\\n" + text + "\\n");
  process.kill(process.pid, "SIGKILL");
`;

type Watched = { name: Uint8Array };
const worker = globalThis as typeof globalThis & { watchedEventLoop?: Watched };

/** Starts the thread, unless an earlier test file of this worker did. */
function watch(): Watched {
  const turns = new Int32Array(new SharedArrayBuffer(8));
  const name = new Uint8Array(new SharedArrayBuffer(1_024));
  new Worker(THREAD, { eval: true, workerData: { turns, name, limitSeconds: LIMIT_SECONDS } }).unref();
  setInterval(() => (turns[0] = (turns[0] ?? 0) + 1), 500).unref();
  return { name };
}

const { name } = (worker.watchedEventLoop ??= watch());

function note(text: string): void {
  name.fill(0);
  new TextEncoder().encodeInto(text, name);
}

note(String(expect.getState().testPath));
beforeEach(({ task }) => note(`${task.file.name} > ${task.name}`));
