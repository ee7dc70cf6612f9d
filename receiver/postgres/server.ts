import { withConfig } from "../operations/commands/run.ts";
import type { DatabaseServer } from "../store/open.ts";

/** Opens an inbox in PostgreSQL. The import is dynamic: with SQLite its packages need not be installed. */
export const openServerStore: DatabaseServer["openServerStore"] = async (options) =>
  (await import("./index.ts")).openServerStore(options);

/** Adds the command that moves an inbox from SQLite to PostgreSQL. */
export const addCommands: DatabaseServer["addCommands"] = (program) => {
  program
    .command("move")
    .description("copy the SQLite inbox of a stopped receiver to PostgreSQL")
    .requiredOption("--to <url>", "where to: postgres://…")
    .option("--json", "print JSON")
    .action(withConfig(async () => (await import("./move.ts")).move, { needsSecret: false }));
};
