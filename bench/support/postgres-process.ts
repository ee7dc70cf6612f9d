import { BENCH_HANDLER, CONCURRENCY, newEvents, openEngine } from "./postgres-events.ts";
import { effect } from "./postgres-handling.ts";

/** One of several processes that share a PostgreSQL: it says `ready`, waits for a word, and tells how much it did. */
const [, , url = "", role = "", share = "0"] = process.argv;
const engine = await openEngine(url);
const tell = (message: unknown): void => void process.send?.(message);
const go = new Promise<void>((resolve) => process.once("message", () => resolve()));
let done = 0;

if (role === "ingest") {
  const events = newEvents(Number(share));
  tell("ready");
  await go;
  for (let at = 0; at < events.length; at += CONCURRENCY) {
    await engine.intake.accept(events.slice(at, at + CONCURRENCY));
  }
  tell(events.length);
} else {
  tell("ready");
  await go;
  await engine.work.process({
    handlers: [BENCH_HANDLER],
    workerId: `bench ${String(process.pid)}`,
    concurrency: CONCURRENCY,
    handle: async (claim) => effect(claim, true),
    onHandled: () => {
      done += 1;
    },
    onTrouble: (error) => process.stderr.write(`${String(error)}\n`),
  });
  setInterval(() => {
    tell(done);
    done = 0;
  }, 20);
}
