import type { Engine } from "../../engine.ts";
import type { Terminal } from "./terminal.ts";

/** Copies the database into `directory` while it is in use, where that is our affair. */
export async function backup(engine: Engine, directory: string, terminal: Terminal): Promise<number> {
  if (!engine.ledger.backup) {
    terminal.complain(
      "PostgreSQL has tools of its own for that: pg_basebackup, pg_dump, or those of your provider.",
    );
    return 1;
  }
  // Also for what SQLite may need beside the copies while it writes them.
  process.umask(0o077);
  for (const file of await engine.ledger.backup(directory)) terminal.print(file);
  return 0;
}
