import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { LEASE_MS } from "../../../receiver/engine.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { openLeaving } from "../../../receiver/engines/postgres/move/leaving.ts";
import { workFileOf } from "../../../receiver/engines/sqlite/work-file.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

test("an inbox waits for workers whose lease runs, and for none of a clock that was turned back", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  await (await openSqliteEngine({ file, clock: systemClock })).close();
  const nowMs = 1_000_000;
  const work = new Database(workFileOf(file));
  const register = work.prepare<[string, number]>(
    "INSERT INTO workers (id, beat, lease_until_ms) VALUES (?, 0, ?)",
  );
  register.run("over", nowMs);
  register.run("runs", nowMs + 1);
  register.run("has just begun", nowMs + LEASE_MS);
  register.run("of another time", nowMs + LEASE_MS + 1);
  work.close();

  const leaving = openLeaving(file);
  onTestFinished(leaving.close);
  expect(leaving.workers(nowMs)).toEqual(["runs", "has just begun"]);
});
