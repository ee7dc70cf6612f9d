import type { Command } from "commander";
import type { Engine } from "../../engine.ts";
import { json } from "../../operations/commands/arguments.ts";
import { withConfig } from "../../operations/commands/with-engine.ts";
import type { EngineOptions } from "../open.ts";

/** What to do where a package that only this engine needs is not installed. */
export const PACKAGES_MISSING =
  "DATABASE_URL names PostgreSQL, whose packages are not installed: npm install pg@8.23.1 pg-boss@12.30.0";

/** Opens the engine for an inbox in PostgreSQL. Throws what is in the way, and what to do. */
export async function openServer(options: EngineOptions & { databaseUrl: string }): Promise<Engine> {
  // Who keeps to SQLite installs nothing of what this imports.
  const { openPostgresEngine } = await import("./index.ts").catch((error: unknown) => {
    const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
    throw isMissing ? new Error(PACKAGES_MISSING, { cause: error }) : error;
  });
  return openPostgresEngine(options);
}

/** The way from SQLite to here. */
export function addCommands(program: Command): void {
  program
    .command("move")
    .description("move the inbox from SQLite to PostgreSQL, while the receiver runs")
    .requiredOption("--to <url>", "where to: postgres://…")
    .option("--finish", "the receiver is stopped for good: move also what is not handled yet")
    .addOption(json())
    .action(withConfig(async () => (await import("./move/command.ts")).move, { needsSecret: false }));
}
