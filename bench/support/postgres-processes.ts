import { fork } from "node:child_process";
import { announce, EVENTS, newEvents, openEngine, perSecond } from "./postgres-events.ts";

const PROCESS = new URL("./postgres-process.ts", import.meta.url);

/** How many events a second so many processes of a role get through together. */
export async function together(url: string, role: "ingest" | "worker", processes: number): Promise<number> {
  const engine = await openEngine(url);
  await announce(engine);
  if (role === "worker") {
    const events = newEvents();
    for (let at = 0; at < EVENTS; at += 1_000) await engine.intake.accept(events.slice(at, at + 1_000));
  }
  await engine.close();
  const share = Math.floor(EVENTS / processes);
  const children = Array.from({ length: processes }, () => fork(PROCESS, [url, role, String(share)]));
  try {
    await Promise.all(
      children.map(async (child) => new Promise((resolve) => child.once("message", resolve))),
    );
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    let left = share * processes;
    for (const child of children) {
      child.on("message", (done) => {
        left -= Number(done);
        if (left <= 0) finish();
      });
    }
    const startedAtMs = performance.now();
    for (const child of children) child.send("go");
    await finished;
    return perSecond(share * processes, startedAtMs);
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
}
