import pino from "pino";
import { createGroupCommit, createInbox, type Inbox } from "../../receiver/intake/inbox.ts";
import { openSqliteStore } from "../../receiver/store/sqlite.ts";
import type { Store } from "../../receiver/store/port.ts";
import type { Handler } from "../../receiver/work/handler.ts";
import { startWorker, type Worker } from "../../receiver/work/worker.ts";
import type { Disk } from "./disk.ts";
import type { Process } from "./machine.ts";

const KEPT = { retentionDays: 30, idRetentionDays: 400 };
const CONFIG = { ...KEPT, handlerTimeoutMs: 5_000, maximumAgeMs: Infinity, workerConcurrency: 8 };

/** A process of the receiver: `intake` takes events, `worker` handles them. It dies if its start fails. */
export type Running = { process: Process; inbox?: Inbox; worker?: Worker; store?: Store };

type Options = { process: Process; disk: Disk; note: (text: string) => void };

function open(process: Process, disk: Disk, { isWorker }: { isWorker: boolean }) {
  return openSqliteStore({ file: disk.file(), clock: process.clock.clock, isWorker, onFatal: process.kill });
}

export function startIntake({ process, disk, note, secret }: Options & { secret: string }): Running {
  const running: Running = { process };
  const { clock } = process.clock;
  void process.run(async () => {
    try {
      const store = await open(process, disk, { isWorker: false });
      const inbox = createInbox({
        secrets: [secret],
        clock,
        store: createGroupCommit({ accept: store.intake.accept, clock }),
      });
      running.inbox = async (delivery) => process.run(async () => inbox(delivery));
    } catch (error) {
      note(`${process.name} does not start: ${String(error)}`);
      process.kill();
    }
  });
  return running;
}

export function startWorkerProcess({
  process,
  disk,
  note,
  ...options
}: Options & { handlers: readonly Handler[]; maximumAttempts: number; random: () => number }): Running {
  const running: Running = { process };
  const { clock } = process.clock;
  void process.run(async () => {
    try {
      const store = await open(process, disk, { isWorker: true });
      running.store = store;
      running.worker = await startWorker({
        store,
        handlers: options.handlers,
        config: { ...CONFIG, maximumAttempts: options.maximumAttempts },
        random: options.random,
        clock,
        log: pino({ level: "silent" }),
        clean: String,
        onEnded: ({ handler, id, attempt, outcome }) =>
          note(`${process.name} ${handler} ${id} ${attempt} ${outcome}`),
        onStuck: process.kill,
      });
    } catch (error) {
      note(`${process.name} does not start: ${String(error)}`);
      process.kill();
    }
  });
  return running;
}

/** Stops a worker cleanly: it gives its unfinished jobs back. */
export async function drain({ process, worker, store }: Running): Promise<void> {
  await process.run(async () => {
    await worker?.drain(2_000);
    await store?.close();
  });
  process.kill();
}
