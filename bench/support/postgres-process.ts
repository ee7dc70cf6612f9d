import type { Processor } from "../../receiver/engine.ts";
import { BENCH_HANDLER, CONCURRENCY, newEvents, openEngine } from "./postgres-events.ts";
import { effect } from "./postgres-handling.ts";

/**
 * One of several processes that share a PostgreSQL. Told a number, it makes so many events, if it is to take them in, and
 * says `ready`; told to `go`, it takes them in, or handles what there is, and tells how much it did; told to `rest`, it
 * stops, and says `rested`.
 */
const [, , url = "", role = ""] = process.argv;
const engine = await openEngine(url);
const tell = (message: unknown): void => void process.send?.(message);
let events: ReturnType<typeof newEvents> = [];
let processor: Processor | undefined;
let done = 0;

process.on("message", (message) => {
  if (message === "go") void (role === "ingest" ? takeIn() : handle());
  else if (message === "rest") void rest();
  else {
    if (role === "ingest") events = newEvents(Number(message));
    tell("ready");
  }
});
setInterval(() => {
  if (done > 0) tell(done);
  done = 0;
}, 20);

async function takeIn(): Promise<void> {
  for (let at = 0; at < events.length; at += CONCURRENCY)
    await engine.intake.accept(events.slice(at, at + CONCURRENCY));
  done += events.length;
}

async function handle(): Promise<void> {
  processor = await engine.work.process({
    handlers: [BENCH_HANDLER],
    workerId: `bench ${String(process.pid)} ${String(performance.now())}`,
    concurrency: CONCURRENCY,
    handle: async (claim) => effect(claim, true),
    onHandled: () => {
      done += 1;
    },
    onTrouble: (error) => process.stderr.write(`${String(error)}\n`),
  });
}

async function rest(): Promise<void> {
  await processor?.drain(1_000);
  tell("rested");
}
