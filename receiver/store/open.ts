import type { Command } from "commander";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { openDatabase } from "./database.ts";
import { createIntake, createObjects } from "./events.ts";
import { createJobs, createQueue } from "./jobs.ts";
import { createLedger } from "./ledger.ts";
import type { Store } from "./port.ts";
import { createWorkerRole } from "./role.ts";

export type StoreOptions = Partial<Pick<Config, "databaseFile" | "databaseUrl" | "databaseSchema">> & {
  clock: Clock;
  /** Whether this process handles jobs. On SQLite it then also checkpoints the log. */
  isWorker: boolean;
  /** No worker has run since then: new handlers get the events stored meanwhile. Default: now. */
  awaySinceMs?: number | undefined;
  /** Ends the process: committed data may not be on disk. */
  onFatal: (problem: string) => void;
  /** Ends the handlers' process: another worker may begin the jobs that run here. */
  onCutOff?: ((problem: string) => void) | undefined;
  /** The app's own connection pool for PostgreSQL. */
  pool?: object | undefined;
};

/** A folder with a store on a database server, and its commands. */
export type ServerRoom = {
  openServerStore: (options: StoreOptions & { databaseUrl: string }) => Promise<Store>;
  addCommands: (program: Command) => void;
};

const rooms: (() => Promise<ServerRoom>)[] = [];
rooms.push(async () => import("../postgres/room.ts"));

/** The PostgreSQL folder, unless it was deleted. */
export async function serverRoom(): Promise<ServerRoom | undefined> {
  return rooms[0]?.();
}

/** Opens the configured inbox. Throws `CannotOpen`, whose message says why and what to do. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { databaseFile: file, databaseUrl } = options;
  try {
    if (databaseUrl !== undefined) {
      const room = await serverRoom();
      if (!room) throw new Error("this receiver has no PostgreSQL. Name a file in DATABASE_URL: sqlite:….");
      return await room.openServerStore({ ...options, databaseUrl });
    }
    if (file === undefined) throw new Error("DATABASE_URL names no database.");
    return await openSqliteStore({ ...options, file });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const where = file === undefined || reason.includes(file) ? "" : `${file}: `;
    throw new CannotOpen(`cannot open the database: ${where}${reason}`, { cause: error });
  }
}

export class CannotOpen extends Error {
  override readonly name = "CannotOpen";
}

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
