import { fork } from "node:child_process";
import { announce, checkpoint, EVENTS, newEvents, openEngine, perSecond } from "./postgres-events.ts";

const PROCESS = new URL("./postgres-process.ts", import.meta.url);

/** What each process has done before the clock starts: most of its code is compiled then, as it is after a minute of work. */
const WARM_UP = 2_000;

/** How many events a second so many processes of a role get through together. */
export async function together(url: string, role: "ingest" | "worker", processes: number): Promise<number> {
  const engine = await openEngine(url);
  await announce(engine);
  const children = Array.from({ length: processes }, () => fork(PROCESS, [url, role]));
  const tellAll = async (word: string | number, answer: string): Promise<void> => {
    const answers = children.map(
      async (child) =>
        new Promise<void>((resolve) => {
          const hear = (message: unknown): void => {
            if (message !== answer) return;
            child.off("message", hear);
            resolve();
          };
          child.on("message", hear).send(word);
        }),
    );
    await Promise.all(answers);
  };

  /** Has them get through so many each, and answers how many a second that were together. */
  async function getThrough(each: number): Promise<number> {
    const count = each * processes;
    if (role === "worker") {
      const events = newEvents(count);
      for (let at = 0; at < count; at += 1_000) await engine.intake.accept(events.slice(at, at + 1_000));
    }
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    let left = count;
    const hear = (done: unknown): void => {
      if (typeof done !== "number") return;
      left -= done;
      if (left <= 0) finish();
    };
    for (const child of children) child.on("message", hear);
    await tellAll(each, "ready");
    await checkpoint(url);
    const startedAtMs = performance.now();
    for (const child of children) child.send("go");
    await finished;
    const rate = perSecond(count, startedAtMs);
    for (const child of children) child.off("message", hear);
    await tellAll("rest", "rested");
    return rate;
  }

  try {
    await getThrough(WARM_UP);
    return await getThrough(Math.floor(EVENTS / processes));
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await engine.close();
  }
}
