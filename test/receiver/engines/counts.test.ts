import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { createAccept } from "../../../receiver/engines/sqlite/accept.ts";
import { check } from "../../../receiver/engines/sqlite/care.ts";
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

/** Of a job, and whether it says when it is due; one that is held has a key. */
const STATES = ["offered", "fresh", "pending", "suspect", "held", "claimed", "done", "ignored", "dead"];
const PAIRS = STATES.flatMap((one) => STATES.map((other) => [one, other] as const));

test("counts are those of the events as they are listed, whatever their jobs are at", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  const engine = await openSqliteEngine({ file, clock: systemClock });
  onTestFinished(engine.close);
  await accept(engine, newEvents(PAIRS.length));
  const { inbox, db } = openFiles(file);
  db.exec(
    `INSERT INTO handlers (number, name, types, before_jobs) VALUES (1, 'one', '*', 0), (2, 'another', '*', 0)`,
  );
  const insert = db.prepare(`
    INSERT INTO jobs (job, state, attempts, token, worker, due_at_ms, key) VALUES (?, ?, 1, 1, ?, ?, ?)`);
  for (const [index, pair] of PAIRS.entries())
    for (const [number, state] of pair.entries()) {
      const isDue = STATES.indexOf(state) < STATES.indexOf("held");
      const key = state === "held" ? "key" : null;
      insert.run(
        (index + 1) * 1_024 + number + 1,
        state,
        state === "claimed" ? 1 : null,
        isDue ? 0 : null,
        key,
      );
    }
  db.exec(`UPDATE position SET seq = ${String(PAIRS.length)}`);
  const listed = await engine.ledger.list({}, { limit: 1_000 });
  const { byState, byHandler } = createCounts({ inbox, db })(0);
  const states = Object.keys(byState) as (keyof typeof byState)[];
  expect(byState).toEqual(
    Object.fromEntries(
      states.map((state) => [state, listed.filter((event) => event.state === state).length]),
    ),
  );
  // And the jobs those of each handler, by its name.
  const jobs = (handler: string, state: string): number =>
    listed.filter((event) => event.jobs.some((job) => job.handler === handler && job.state === state)).length;
  expect(byHandler).toEqual(
    ["another", "one"].map((handler) => ({
      handler,
      pending: 5 * STATES.length,
      claimed: jobs(handler, "claimed"),
      dead: jobs(handler, "dead"),
      ignored: jobs(handler, "ignored"),
    })),
  );
  expect(jobs("one", "pending")).toBe(5 * STATES.length);
});

test.each(STATES)(
  "the oldest that waits is counted from when it came, though a later one is %s",
  async (state) => {
    const { inbox, db } = openFiles(join(temporaryDirectory(), "receiver.db"));
    const store = createAccept(inbox);
    for (const atMs of [1_000, 2_000, 3_000]) store(newEvents(1), atMs);
    const age = (): number | null => createCounts({ inbox, db })(10_000).oldestUnfinishedAgeMs;
    const put = (seq: number, one: string): void => {
      const isDue = STATES.indexOf(one) < STATES.indexOf("held");
      db.prepare(
        `INSERT INTO jobs (job, state, attempts, token, worker, due_at_ms, key) VALUES (?, ?, 1, 1, ?, ?, ?)`,
      ).run(
        seq * 1_024 + 1,
        one,
        one === "claimed" ? 1 : null,
        isDue ? 0 : null,
        one === "held" ? "key" : null,
      );
      db.exec(`UPDATE position SET seq = ${String(seq)}`);
    };
    expect(age()).toBe(9_000);
    put(1, "done");
    expect(age()).toBe(8_000);
    const isFinished = ["done", "ignored", "dead"].includes(state);
    put(2, state);
    expect(age()).toBe(isFinished ? 7_000 : 8_000);
    put(3, state);
    expect(age()).toBe(isFinished ? null : 8_000);
  },
);

test("a check finds each way in which the two files may disagree, and nothing where they agree", () => {
  const look = (sql: string, inboxSql = ""): string[] => {
    const { inbox, db } = openFiles(join(temporaryDirectory(), "receiver.db"));
    createAccept(inbox)(newEvents(STATES.length), 1_000);
    const insert = db.prepare(`INSERT INTO jobs (job, state, attempts, token) VALUES (?, ?, 1, 1)`);
    for (const [index, state] of STATES.entries()) insert.run((index + 1) * 1_024 + 1, state);
    db.exec(`UPDATE position SET seq = ${String(STATES.length)}; ${sql}`);
    inbox.exec(inboxSql);
    return check({ inbox, db }).map((finding) => finding.replaceAll(/\S+\/receiver/g, "receiver"));
  };
  const count = STATES.length;
  const belong = (known: number, there: number) =>
    `receiver.work.db: it knows ${String(known)} events where ${String(there)} belong.`;
  expect(look("")).toEqual([]);
  expect(look(`INSERT INTO jobs (job, state, attempts, token) VALUES (1026, 'done', 1, 1)`)).toEqual([]);
  expect(look(`UPDATE position SET seq = seq + 1, deleted = 1`)).toEqual([
    "receiver.work.db: it is ahead of receiver.db.",
  ]);
  expect(look(`UPDATE position SET deleted = 1`)).toEqual([belong(count, count - 1)]);
  expect(look(`DELETE FROM jobs WHERE job < 2048`)).toEqual([belong(count - 1, count)]);
  const unfinished = STATES.filter((state) => state !== "done" && state !== "ignored");
  const lost = (number: number) => [
    `receiver.db: ${String(number)} unfinished events have lost their envelope.`,
  ];
  expect(look("", "UPDATE events SET body = NULL")).toEqual(lost(unfinished.length));
  expect(look("", "DELETE FROM events WHERE seq < (SELECT max(seq) FROM events)")).toEqual(
    lost(unfinished.length - 1),
  );
});
