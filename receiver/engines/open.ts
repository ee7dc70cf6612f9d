import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { systemClock, type Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Engine } from "../engine.ts";
import { namedError } from "../named-error.ts";
import type { WhenLost } from "./sqlite/work-file.ts";

/** What the configuration says of the database, and of whose inbox it is. */
export type EngineOptions = Partial<
  Pick<Config, "databaseFile" | "databaseUrl" | "databaseSchema" | "postgresBackend" | "signingSecrets">
> & {
  clock: Clock;
  whenLost?: WhenLost | undefined;
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

/** Does what `openEngine` does. Throws `CannotOpen` where that fails; its message says why, of which database, and what to do. */
export async function openConfigured(
  config: Config,
  { whenLost }: Pick<EngineOptions, "whenLost"> = {},
): Promise<Engine> {
  const { databaseFile } = config;
  const above = databaseFile === undefined ? "." : dirname(dirname(resolve(databaseFile)));
  // One folder is made, such as data/; more of them would hide that the name was mistyped.
  if (!existsSync(above)) throw cannotOpen(`there is no folder ${above}: make it, or mend DATABASE_URL.`);
  try {
    return await openEngine({ ...config, clock: systemClock, whenLost });
  } catch (error) {
    throw cannotOpen(whyNot(error, databaseFile));
  }
}

const cannotOpen = (why: string): Error => namedError("CannotOpen", `cannot open the database: ${why}`);

function whyNot(error: unknown, file: string | undefined): string {
  const reason = error instanceof Error ? error.message : String(error);
  if (file === undefined || reason.includes(file)) return reason;
  return `${file}: ${reason}. Look whether it is the receiver's own, and may be read and written; or mend DATABASE_URL.`;
}

/** The files that events are kept in; none where that is a server's affair. */
export async function filesOf({ databaseFile }: Pick<EngineOptions, "databaseFile">): Promise<string[]> {
  if (databaseFile === undefined) return [];
  const { workFileOf } = await import("./sqlite/work-file.ts");
  return [databaseFile, workFileOf(databaseFile)];
}
