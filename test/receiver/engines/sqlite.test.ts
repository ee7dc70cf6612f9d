import Database from "better-sqlite3";
import { join } from "node:path";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { describeEngine } from "../engine-suite.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

describeEngine("SQLite", async () => {
  const directory = temporaryDirectory();
  return {
    open: async (options) => openSqliteEngine({ file: join(directory, "receiver.db"), ...options }),
    rows: async (sql) => {
      const db = new Database(join(directory, "receiver.work.db"), { readonly: true });
      try {
        return db.prepare<[], Record<string, unknown>>(sql).all();
      } finally {
        db.close();
      }
    },
  };
});
