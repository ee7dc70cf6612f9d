import { serveWriter } from "../../../receiver/engines/sqlite/accept.ts";

/** Ends the whole process inside its eighth transaction, after the writes and before the commit. */
let commits = 0;
serveWriter({
  beforeCommit: () => {
    commits += 1;
    if (process.env["CRASH_AT"] === "before-commit" && commits === 8) process.kill(process.pid, "SIGKILL");
  },
});
