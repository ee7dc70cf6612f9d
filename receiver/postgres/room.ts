import { withConfig } from "../operations/commands/run.ts";
import type { ServerRoom } from "../store/open.ts";

/** What to do if a package that only this folder needs is not installed. */
const PACKAGES_MISSING =
  "DATABASE_URL names PostgreSQL, whose packages are not installed: npm install pg@8.23.1 pg-boss@12.30.0";

/** Opens an inbox in PostgreSQL. Who keeps to SQLite installs nothing of what this imports. */
export const openServerStore: ServerRoom["openServerStore"] = async (options) => {
  const room = await import("./index.ts").catch((error: unknown) => {
    const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
    throw isMissing ? new Error(PACKAGES_MISSING, { cause: error }) : error;
  });
  return room.openServerStore(options);
};

/** The way from SQLite to here. */
export const addCommands: ServerRoom["addCommands"] = (program) => {
  program
    .command("move")
    .description("copy the SQLite inbox of a stopped receiver to PostgreSQL")
    .requiredOption("--to <url>", "where to: postgres://…")
    .option("--json", "print JSON")
    .action(withConfig(async () => (await import("./move.ts")).move, { needsSecret: false }));
};
