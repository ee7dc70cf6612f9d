import "../../shared/node-version.ts";
import { writeFile } from "node:fs/promises";
import { systemClock } from "../clock.ts";
import { loadConfig } from "../config.ts";
import { openEngine } from "../engines/open.ts";
import { createLog, describePlace } from "../operations/log.ts";
import { knownType } from "../operations/privacy.ts";
import { secretsOf } from "../operations/secrets.ts";
import type { FailedJob } from "../engine.ts";
import { describeLoadError } from "./code-place.ts";
import { startHandlers } from "./handlers-module.ts";
import {
  assignmentSchema,
  supervisorMessageSchema,
  type Assignment,
  type ChildMessage,
  type EndedAttempt,
} from "./messages.ts";
import { startWatchdog } from "./watchdog.ts";
import { startWorking, type Working } from "./loop.ts";

const ALIVE_INTERVAL_MS = 1_000;
/** Ended attempts in one message. A longer message would keep the supervisor from answering requests. */
const MOST_ENDED = 250;
const EXIT_BUG = 1;
const EXIT_STUCK = 70;
const EXIT_BROKEN = 78;

/** What services may take to close, beyond what is left of the grace. */
const CLOSING_MS = 500;
/** What the exit may take beyond its grace. */
const EXIT_LIMIT_MS = 2_000;

await runWorker(assignmentSchema.parse(JSON.parse(process.argv[2] ?? "{}")));

/**
 * The process in which handlers run: it may be blocked, fill its memory or crash, and all that happens is that its
 * supervisor starts another. Loads its handlers, begins and ends each when the supervisor says so; also ends when the
 * supervisor is gone.
 */
async function runWorker({ handlersModule, workerId }: Assignment): Promise<void> {
  const loaded = loadConfig(process.env, { needsSecret: false });
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  const { config } = loaded;
  const log = createLog({ level: config.logLevel, name: "worker", secrets: secretsOf(config) });
  const files = new Set<string>();
  let ended: EndedAttempt[] = [];
  const loadOrder = Promise.withResolvers<void>();
  const beginOrder = Promise.withResolvers<string[]>();
  let working: Working | undefined;
  let closeServices = async (): Promise<void> => undefined;
  let exiting = false;

  startWatchdog(config.shutdownTimeoutMs + EXIT_LIMIT_MS);
  offerToOutOfMemoryKiller();
  process.on("uncaughtException", endByError);
  // Signals of a terminal reach the whole group of processes; here the supervisor says when to stop.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  process.on("disconnect", () => void exit(0, config.shutdownTimeoutMs));
  process.on("message", onMessage);
  // The supervisor may be gone already, before `disconnect` had a listener.
  if (process.send !== undefined && !process.connected) return exit(0, 0);

  try {
    // Before the handlers, so that tsx has nothing to do with it: it looks at each module that comes after them.
    const engine = await openEngine({ ...config, clock: systemClock });
    await loadOrder.promise;
    const { handlers, services, close } = await startHandlers(handlersModule, (file) => files.add(file));
    closeServices = close;
    tell({ kind: "ready", files: [...files] });
    const predecessors = await beginOrder.promise;
    working = await startWorking({
      config,
      engine,
      log,
      handlers,
      services,
      workerId,
      predecessors,
      onHandled: ({ handler, type, outcome, durationMs }) => {
        // Only a type that we know: another may be as long as a body.
        ended.push({ handler, type: knownType(type), outcome, durationMs });
        if (ended.length >= MOST_ENDED) tellAlive();
      },
      onStuck: (job) => {
        log.error(
          { handler: job.handler, event_id: job.id },
          "a handler goes on past its deadline; its process is replaced",
        );
        void exit(EXIT_STUCK, 0, [job]);
      },
    });
  } catch (error) {
    return endBroken(error);
  }
  tell({ kind: "started" });
  setInterval(tellAlive, ALIVE_INTERVAL_MS);

  /** Messages for a handler's dependency come here too: those that are not ours are ignored. */
  function onMessage(message: unknown): void {
    const { data: order } = supervisorMessageSchema.safeParse(message);
    if (order?.kind === "load") loadOrder.resolve();
    if (order?.kind === "begin") beginOrder.resolve(order.predecessors);
    if (order?.kind === "wake") working?.loop.wake();
    if (order?.kind === "drain") void exit(0, order.graceMs);
  }

  function endByError(error: Error): void {
    if (!working) return void endBroken(error);
    const failed = working.loop.blame(error);
    const [job] = failed ?? [];
    // Its message may quote personal data of any event, so it is not logged.
    log.fatal(
      { ...(job && { handler: job.handler, event_id: job.id }), ...describePlace(error) },
      "an error that a handler did not wait for ends its process",
    );
    if (failed) void exit(EXIT_BUG, 0, failed);
    else process.exit(EXIT_BUG);
  }

  async function endBroken(error: unknown): Promise<void> {
    tell({ kind: "broken", problem: describeLoadError(error, files), files: [...files] });
    await exit(EXIT_BROKEN, 0);
  }

  async function exit(code: number, graceMs: number, failed?: readonly FailedJob[]): Promise<void> {
    if (exiting) return;
    exiting = true;
    const closed = systemClock.sleep(graceMs + CLOSING_MS);
    setTimeout(() => process.exit(code), graceMs + EXIT_LIMIT_MS);
    await working
      ?.stop(graceMs, failed)
      .catch((error: unknown) => log.error({ err: error }, "could not return jobs"));
    const closing = closeServices().catch((error: unknown) =>
      log.error({ err: error }, "the services could not be closed"),
    );
    await Promise.race([closing, closed]);
    tellAlive();
    await new Promise((written) => log.flush(written));
    process.exit(code);
  }

  function tellAlive(): void {
    const { heapUsed, external } = process.memoryUsage();
    tell({ kind: "alive", ended, memoryBytes: heapUsed + external });
    ended = [];
  }
}

/** When memory runs out, Linux is to end this process and not the one that acknowledges. */
function offerToOutOfMemoryKiller(): void {
  // Other systems have no such file, and some containers don't let us write it: then things stay as they are.
  writeFile("/proc/self/oom_score_adj", "800").catch(() => undefined);
}

function tell(message: ChildMessage): void {
  // Without a supervisor nobody reads it; the `disconnect` event ends this process.
  if (process.connected) process.send?.(message);
}
