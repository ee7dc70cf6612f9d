import { rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { openInboxFile } from "../../../receiver/engines/sqlite/inbox-file.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { openWorkFile, workFileOf } from "../../../receiver/engines/sqlite/work-file.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** Opens both files in the directory, which makes them when they are not there, and closes them. */
async function create(directory: string): Promise<void> {
  const engine = await openSqliteEngine({
    file: join(directory, "receiver.db"),
    clock: systemClock,
  });
  await engine.close();
}

test("a work file that moves on while it is opened belongs to its inbox all the same", async () => {
  const directory = temporaryDirectory();
  await create(directory);
  const inbox = openInboxFile({ file: join(directory, "receiver.db"), busyTimeoutMs: 1_000 });
  onTestFinished(() => {
    inbox.close();
  });
  const work = new Database(join(directory, "receiver.work.db"));
  onTestFinished(() => {
    work.close();
  });
  // Between two looks of the opener an event arrives, and a worker claims it.
  const prepare = inbox.prepare.bind(inbox);
  vi.spyOn(inbox, "prepare").mockImplementation((sql: string) => {
    if (sql.includes("pair")) {
      inbox.exec(
        `INSERT INTO events (key, type, source, received_at_ms, body) VALUES (x'01', 'a', 'webhook', 0, x'')`,
      );
      work.exec("UPDATE position SET seq = seq + 1");
    }
    return prepare(sql);
  });
  const opened = openWorkFile({ file: join(directory, "receiver.work.db"), inbox, busyTimeoutMs: 1_000 });
  expect(opened.prepare("SELECT seq FROM position").pluck().get()).toBe(1);
  opened.close();
});

test("a work file ahead of its inbox is refused", async () => {
  const directory = temporaryDirectory();
  await create(directory);
  const work = new Database(join(directory, "receiver.work.db"));
  work.exec("UPDATE position SET seq = 1");
  work.close();
  await expect(create(directory)).rejects.toThrow(/does not belong to/);
});

test("two files of different inboxes are refused together", async () => {
  const [one, other] = [temporaryDirectory(), temporaryDirectory()];
  for (const directory of [one, other]) await create(directory);
  rmSync(join(one, "receiver.db"));
  const db = new Database(join(other, "receiver.db"));
  await db.backup(join(one, "receiver.db"));
  db.close();
  await expect(create(one)).rejects.toThrow(/does not belong to/);
});

test("a row of the work file is written without building a table of the words that it may hold", async () => {
  const directory = temporaryDirectory();
  await create(directory);
  const work = new Database(join(directory, "receiver.work.db"));
  onTestFinished(() => {
    work.close();
  });
  const explain = (sql: string): unknown[] =>
    work
      .prepare<[], { opcode: string }>(`EXPLAIN ${sql}`)
      .all()
      .map(({ opcode }) => opcode);
  expect(explain("UPDATE jobs SET state = 'done' WHERE job = 1")).not.toContain("OpenEphemeral");
  // The control: so it would be seen.
  expect(explain("SELECT 1 WHERE 'a' || random() IN ('a', 'b', 'c')")).toContain("OpenEphemeral");
  expect(() => work.exec("INSERT INTO jobs (job, state, attempts, token) VALUES (9, 'lost', 1, 1)")).toThrow(
    /CHECK/,
  );
});

test.each([
  ["data/receiver.db", "data/receiver.work.db"],
  ["receiver.sqlite3", "receiver.work.sqlite3"],
  ["data/inbox", "data/inbox.work.db"],
  ["data.d/inbox", "data.d/inbox.work.db"],
  ["data/receiver.2.db", "data/receiver.2.work.db"],
  ["../x.y/.hidden/a.b.c", "../x.y/.hidden/a.b.work.c"],
  [String.raw`C:\data.d\inbox`, String.raw`C:\data.d\inbox.work.db`],
])("the work of %s is in %s", (inbox, work) => {
  expect(workFileOf(inbox)).toBe(work);
});
