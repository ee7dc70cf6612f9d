import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { createCounts } from "../../../receiver/engines/sqlite/counts.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { accept, newEvents } from "../engine-suite/harness.ts";
import { openFiles } from "../helpers/parts.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

test("counts add up though a worker goes on while they are taken", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  const engine = await openSqliteEngine({ file, clock: systemClock });
  onTestFinished(engine.close);
  await accept(engine, newEvents(3));
  const { inbox, db } = openFiles(file);
  const worker = openFiles(file).db;
  const prepare = db.prepare.bind(db);
  vi.spyOn(db, "prepare").mockImplementation((sql: string) => {
    const statement = prepare(sql);
    if (!sql.includes("FROM position")) return statement;
    // Once it is known how far workers have come, one of them claims all there is.
    const get = statement.get.bind(statement);
    return Object.assign(statement, {
      get: () => {
        const position: unknown = get();
        worker.exec(`
          UPDATE position SET seq = 3;
          INSERT INTO jobs (job, state, attempts, token, worker) VALUES
            (1025, 'claimed', 1, 1, 1), (2049, 'claimed', 1, 1, 1), (3073, 'claimed', 1, 1, 1)`);
        return position;
      },
    });
  });
  const { byState } = createCounts({ inbox, db })(0);
  expect(byState).toEqual({ pending: 3, claimed: 0, done: 0, ignored: 0, dead: 0 });
});
