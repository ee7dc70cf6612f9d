import { existsSync } from "node:fs";
import { serveWriter } from "../../receiver/engines/sqlite/accept.ts";

/** A writer whose database is in the trouble that TROUBLE names, until the file TROUBLE_OVER exists. */
const over = process.env["TROUBLE_OVER"] ?? "";

serveWriter({
  onOpen: (db) => {
    if (process.env["TROUBLE"] === "full") {
      db.pragma(`max_page_count = ${String(Number(db.pragma("page_count", { simple: true })) + 20)}`);
      setInterval(() => {
        if (existsSync(over)) db.pragma("max_page_count = 100000");
      }, 5).unref();
    }
    if (process.env["TROUBLE"] === "read-only") {
      db.pragma("query_only = ON");
      setInterval(() => {
        if (existsSync(over)) db.pragma("query_only = OFF");
      }, 5).unref();
    }
  },
  beforeCommit: () => {
    const isOver = existsSync(over);
    if (process.env["TROUBLE"] === "bug" && isOver) throw new Error("a bug in the writer");
    // In a thread, only the thread ends.
    if (process.env["TROUBLE"] === "dies" && isOver) process.exit(1);
  },
});
