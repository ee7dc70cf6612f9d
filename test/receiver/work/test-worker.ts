import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { z } from "zod";
import type { Clock } from "../../../receiver/clock.ts";
import { openStore } from "../../../receiver/store/open.ts";
import type { InboxJob, Jobs, Store } from "../../../receiver/store/port.ts";
import { defineHandler, type Handler, type HandlerContext } from "../../../receiver/work/handler.ts";
import type { Ended } from "../../../receiver/work/messages.ts";
import { startWorker, type Worker, type WorkerOptions } from "../../../receiver/work/worker.ts";
import { movableClock } from "../helpers/clock.ts";
import { recordedLog } from "../helpers/log.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { accept, event, jobOf } from "../store-suite/harness.ts";
import { until } from "../helpers/until.ts";

export type TestWorker = {
  worker: Worker;
  store: Store;
  clock: ReturnType<typeof movableClock>;
  ended: Ended[];
  stuck: { handler: string; id: string }[];
  lines: Record<string, unknown>[];
  /** Stores an event of each type, and returns their ids. */
  send: (...types: string[]) => Promise<string[]>;
  job: (id: string, handler: string) => Promise<InboxJob | undefined>;
  /** Waits until so many attempts have ended. */
  end: (attempts: number) => Promise<Ended[]>;
};

/** A worker on its own database. `jobs` wraps the part of the store that the worker uses. */
export async function startTestWorker(
  handlers: readonly Handler[],
  options: Partial<WorkerOptions["config"]> &
    Pick<WorkerOptions, "onDead"> & {
      file?: string;
      jobs?: (jobs: Jobs) => Partial<Jobs>;
      after?: Clock["after"];
      sleep?: Clock["sleep"];
    } = {},
): Promise<TestWorker> {
  const { file = join(temporaryDirectory(), "receiver.db"), jobs, onDead, after, sleep, ...config } = options;
  const clock = { ...movableClock(), ...(after && { after }), ...(sleep && { sleep }) };
  const store = await openStore({ databaseFile: file, clock, isWorker: true, onFatal: console.error });
  const ended: Ended[] = [];
  const stuck: TestWorker["stuck"] = [];
  const { log, lines } = recordedLog();
  const worker = await startWorker({
    handlers,
    store: { ...store, jobs: { ...store.jobs, ...jobs?.(store.jobs) } },
    onDead,
    config: {
      handlerTimeoutMs: 60_000,
      maximumAgeMs: 72 * 3_600_000,
      maximumAttempts: 3,
      retentionDays: 30,
      idRetentionDays: 400,
      workerConcurrency: 8,
      ...config,
    },
    clock,
    random: () => 0,
    clean: (text) => text,
    log,
    onEnded: (one) => void ended.push(one),
    onStuck: (job) => void stuck.push(job),
  });
  onTestFinished(async () => {
    await worker.drain(0);
    await store.close();
  });
  return {
    worker,
    store,
    clock,
    ended,
    stuck,
    lines,
    send: async (...types) => {
      const ids = await accept(store, ...types.map((type) => documented(type)));
      worker.wake();
      return ids;
    },
    job: async (id, handler) => jobOf(store, id, handler),
    end: async (attempts) =>
      until(
        () => ended,
        ({ length }) => length >= attempts,
      ),
  };
}

/** An event of any type, with every field of an envelope. */
export function documented(type: string, object: object = {}) {
  const { id } = event();
  const envelope = {
    id,
    type,
    created: 1,
    api_version: "v1",
    org_id: "org_1",
    data: { object: { object: "x", ...object } },
  };
  return event({ id, type, envelope });
}

/** A handler of the type that it is named after, for any object. */
export function handler(
  name: string,
  handle: (context: HandlerContext, id: string) => unknown = () => undefined,
  policies: Partial<Parameters<typeof defineHandler>[0]> = {},
) {
  return defineHandler({
    ...policies,
    name,
    type: name,
    object: z.unknown(),
    handle: ({ id }, context) => handle(context, id),
  });
}

/** So many turns of the event loop. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}
