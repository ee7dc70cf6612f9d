import type { Clock } from "../clock.ts";
import { openDatabase } from "./database.ts";
import { createIntake } from "./events.ts";
import { createJobs } from "./jobs.ts";
import { createLedger } from "./ledger.ts";
import type { Store } from "./port.ts";

/** Opens the inbox in an SQLite file. Throws an error whose message says why that cannot be done. */
export async function openSqliteStore(options: {
  file: string;
  clock: Clock;
  /** Whether this process handles jobs: then it also copies the log into the file. */
  isWorker: boolean;
  onFatal: (problem: string) => void;
}): Promise<Store> {
  const { clock } = options;
  const file = await openDatabase({ ...options, checkpoints: options.isWorker });
  const { resign, ...jobs } = createJobs(file, clock);
  return {
    intake: createIntake(file, clock),
    jobs,
    ledger: createLedger(file, clock),
    nowMs: async () => clock.nowMs(),
    close: async () => {
      await file.close();
      resign();
    },
  };
}
