import { openDatabase } from "./database.ts";
import { createIntake, createObjects } from "./events.ts";
import { createJobs, createQueue } from "./jobs.ts";
import { createLedger } from "./ledger.ts";
import type { StoreOptions } from "./open.ts";
import type { Store } from "./port.ts";
import { createWorkerRole } from "./role.ts";

/** Opens the inbox in an SQLite file. Throws an error whose message says why it cannot. */
export async function openSqliteStore(options: StoreOptions & { file: string }): Promise<Store> {
  const { clock, awaySinceMs = clock.nowMs() } = options;
  const file = await openDatabase({ ...options, checkpoints: options.isWorker });
  const queue = createQueue(file.db);
  const objects = createObjects(file.db);
  const { begin, resign } = createWorkerRole(file, queue, clock, awaySinceMs);
  return {
    intake: createIntake(file, queue, objects, clock),
    jobs: { begin, ...createJobs(file, queue, clock) },
    ledger: createLedger(file, queue, objects, clock),
    nowMs: async () => clock.nowMs(),
    close: async () => {
      await file.close();
      resign();
    },
  };
}
