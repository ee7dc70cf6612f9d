import type { Command } from "commander";
import type { Clock } from "../clock.ts";
import type { Engine } from "../engine.ts";

export type EngineOptions = {
  /** A file for SQLite. */
  databaseFile?: string | undefined;
  /** An address for PostgreSQL, the schema there, and which database it is that speaks its protocol. */
  databaseUrl?: string | undefined;
  databaseSchema?: string | undefined;
  postgresBackend?: "postgres" | "cockroachdb" | "yugabytedb" | "citus" | undefined;
  /** Whose inbox it is: one in PostgreSQL refuses a receiver that shares none of them with it. */
  signingSecrets?: readonly string[] | undefined;
  clock: Clock;
  /** What to think of stored events when nobody knows any more which of them were handled. */
  whenLost?: "handle-again" | "consider-handled";
};

/** A folder with an engine for databases on a server, and with commands of its own. */
export type ServerRoom = {
  openServer: (options: EngineOptions & { databaseUrl: string }) => Promise<Engine>;
  addCommands: (program: Command) => void;
};

const rooms: (() => Promise<ServerRoom>)[] = [];
// Who needs no PostgreSQL deletes this line, and the folder that it names.
rooms.push(async () => import("./postgres/room.ts"));

/** The folder for PostgreSQL, where it was not deleted. */
export async function serverRoom(): Promise<ServerRoom | undefined> {
  return rooms[0]?.();
}

/** Opens the engine that the configuration names. */
export async function openEngine(given: EngineOptions): Promise<Engine> {
  const { databaseFile, databaseUrl, ...options } = given;
  if (databaseUrl !== undefined) {
    const room = await serverRoom();
    if (room) return room.openServer({ ...options, databaseUrl });
    throw new Error("this receiver was made without PostgreSQL: DATABASE_URL has to name a file, sqlite:….");
  }
  if (databaseFile === undefined) throw new Error("Neither a file nor an address of a database is given.");
  const { openSqliteEngine } = await import("./sqlite/index.ts");
  return openSqliteEngine({ file: databaseFile, ...options });
}

/** The files that events are kept in; none where that is a server's affair. */
export async function filesOf({ databaseFile }: Pick<EngineOptions, "databaseFile">): Promise<string[]> {
  if (databaseFile === undefined) return [];
  const { workFileOf } = await import("./sqlite/work-file.ts");
  return [databaseFile, workFileOf(databaseFile)];
}
