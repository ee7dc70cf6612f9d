import { describe, expect, test } from "vitest";
import type { HandlerDatabase, Job } from "../../../receiver/store/port.ts";
import {
  accept,
  atomically,
  acceptAndClaim,
  begin,
  claim,
  claimOne,
  type CreateBackend,
  effects,
  event,
  handler,
  jobOf,
  openWorker,
  writeEffect,
} from "./harness.ts";

export function describeAtomically(name: string, createBackend: CreateBackend): void {
  describe(`${name}: atomically`, () => {
    test("a handler's writes are committed together with done", async () => {
      const { backend, store } = await begin(createBackend);
      const job = await acceptAndClaim(store);
      const { id } = job;
      const result = await atomically(store, job, async (db) => {
        const [before] = await db.query("SELECT count(*) AS n FROM effects");
        await writeEffect(db, job);
        return Number(before?.["n"]) + 1;
      });
      expect(result).toBe(1);
      expect(await effects(backend)).toEqual([id]);
      expect(await jobOf(store, id)).toMatchObject({ state: "done", handled: 1, attempts: 1 });
      expect(await store.jobs.end(job, { kind: "failed", error: "late", delayMs: 0 })).toBe(false);
    });

    test("an error rolls back only that job's writes, and leaves it running", async () => {
      const { backend, store } = await begin(createBackend);
      await accept(store, event(), event(), event());
      const jobs = await claim(store);
      const write = async (job: Job, isFailing = false): Promise<void> =>
        atomically(store, job, async (db) => {
          await writeEffect(db, job);
          if (isFailing) throw new Error("changed my mind");
        });
      const outcomes = await Promise.allSettled(jobs.map(async (job, index) => write(job, index === 1)));
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect(await effects(backend)).toHaveLength(2);
      const [, failed] = jobs;
      if (!failed) throw new Error("three were claimed");
      expect(await jobOf(store, failed.id)).toMatchObject({ state: "running" });
      // The next transaction commits nothing of it either.
      await expect(write(failed, true)).rejects.toThrow("changed my mind");
      await write(failed);
      expect(await effects(backend)).toHaveLength(3);
    });

    test("a failed statement fails the transaction, also if its error was caught", async () => {
      const { backend, store } = await begin(createBackend);
      const job = await acceptAndClaim(store);
      const outcome = atomically(store, job, async (db) => {
        await writeEffect(db, job);
        await db.query("INSERT INTO nowhere VALUES (1)").catch(() => undefined);
        await db.query("SELECT 1").catch(() => undefined);
      });
      await expect(outcome).rejects.toThrow(/nowhere/);
      expect(await effects(backend)).toEqual([]);
    });

    test("nothing is written for a job that no longer belongs to the attempt", async () => {
      const { backend, store } = await begin(createBackend);
      const job = await acceptAndClaim(store);
      await store.jobs.end(job, { kind: "returned" });
      const late = async () => atomically(store, job, async (db) => writeEffect(db, job));
      await expect(late()).rejects.toThrow(/no longer this attempt's/);
      // Nor while another attempt has it.
      await claimOne(store);
      await store.jobs.end(await claimOne(store).catch(() => job), { kind: "done" });
      await expect(late()).rejects.toThrow(/no longer/);
      expect(await effects(backend)).toEqual([]);
    });

    test("an aborted attempt commits nothing", async () => {
      const { backend, store } = await begin(createBackend);
      const job = await acceptAndClaim(store);
      const abort = new AbortController();
      const work = async (db: HandlerDatabase): Promise<void> => {
        await writeEffect(db, job);
        abort.abort(new Error("too late"));
      };
      const outcome = store.jobs.atomically(job, work, abort.signal);
      await expect(outcome).rejects.toThrow("too late");
      await expect(store.jobs.atomically(job, async () => 1, abort.signal)).rejects.toThrow("too late");
      expect(await effects(backend)).toEqual([]);
      expect(await store.jobs.end(job, { kind: "done" })).toBe(true);
    });

    test.each(["COMMIT", " ; -- a\n rollback", "/* x */ BEGIN IMMEDIATE", "SAVEPOINT s", "release s", "END"])(
      "a handler cannot end the transaction: %s",
      async (sql) => {
        const { backend, store } = await begin(createBackend);
        const job = await acceptAndClaim(store);
        const outcome = atomically(store, job, async (db) => {
          await writeEffect(db, job);
          await db.query(sql);
        });
        await expect(outcome).rejects.toThrow(/refused here/);
        expect(await effects(backend)).toEqual([]);
      },
    );

    test("a query after the transaction has ended is refused", async () => {
      const { backend, store } = await begin(createBackend);
      const job = await acceptAndClaim(store);
      const kept = await atomically(store, job, async (db) => db);
      await expect(writeEffect(kept, job)).rejects.toThrow(/ended/);
      expect(await effects(backend)).toEqual([]);
    });

    test("values are stored by one rule: booleans, dates, JSON, bigint, bytes and null", async () => {
      const backend = await createBackend();
      const [integer, bytes] = backend.isSqlite ? ["INTEGER", "BLOB"] : ["bigint", "bytea"];
      const store = await openWorker(backend, [
        handler({
          migrations: [
            `CREATE TABLE v (flag ${integer}, at TEXT, doc TEXT, big ${integer}, raw ${bytes}, none TEXT)`,
          ],
        }),
      ]);
      const at = new Date("2026-03-01T12:00:00.250Z");
      await store.jobs.query("INSERT INTO v VALUES ($1, $2, $3, $4, $5, $6)", [
        true,
        at,
        { toJSON: () => ({ a: [1] }) },
        9_007_199_254_740_993n,
        new Uint8Array([0, 255]),
        null,
      ]);
      const [row = {}] = await store.jobs.query("SELECT * FROM v");
      expect(row).toMatchObject({
        flag: 1,
        at: at.toISOString(),
        doc: '{"a":[1]}',
        big: 9_007_199_254_740_993n,
        none: null,
      });
      expect(Buffer.from(row["raw"] as Uint8Array)).toEqual(Buffer.from([0, 255]));
      await expect(store.jobs.query("SELECT $1", [])).rejects.toThrow(/placeholder|parameter/);
      await expect(store.jobs.query("SELECT $1", [undefined as never])).rejects.toThrow(/\$1 .* Pass null/);
    });

    test("placeholders are matched by number, and text in quotes or comments is not a placeholder", async () => {
      const store = await openWorker(await createBackend());
      const [row] = await store.jobs.query(
        `SELECT '$2 it''s' AS a, CAST($2 AS TEXT) AS b, CAST($1 AS TEXT) || CAST($1 AS TEXT) AS "c$4" /* $5 */ -- $3`,
        ["one", "two"],
      );
      expect(row).toEqual({ a: "$2 it's", b: "two", c$4: "oneone" });
    });

    test("migrations run once, in order, and only new ones run at the next start", async () => {
      const backend = await createBackend();
      const migrations = ["CREATE TABLE notes (id TEXT)", "INSERT INTO notes VALUES ('first')"];
      let store = await openWorker(backend, [handler({ migrations })]);
      await store.close();
      const newer = [...migrations, "INSERT INTO notes VALUES ('second')"];
      // Also after an older version of the handler has run for a while.
      for (const deployed of [newer, migrations, newer]) {
        store = await openWorker(backend, [handler({ migrations: deployed })]);
        expect(await backend.rows("SELECT id FROM notes ORDER BY id")).toEqual([
          { id: "first" },
          { id: "second" },
        ]);
        await store.close();
      }

      const broken = openWorker(backend, [
        handler({ name: "broken", migrations: ["CREATE TABLE b (id TEXT)", "NONSENSE"] }),
      ]);
      await expect(broken).rejects.toThrow(/migration 2 of broken failed.*NONSENSE/is);
    });

    test("many transactions at once, each of which reads and then writes, lose no update", async () => {
      const { backend, store } = await begin(createBackend, [
        handler({ migrations: ["CREATE TABLE counter (n INTEGER)", "INSERT INTO counter VALUES (0)"] }),
      ]);
      await accept(store, ...Array.from({ length: 60 }, () => event()));
      const jobs = await claim(store);
      const add = async (job: (typeof jobs)[number]): Promise<void> =>
        atomically(store, job, async (db) => {
          // The row is locked, where several transactions may be open at once.
          const [row] = await db.query(`SELECT n FROM counter${backend.isSqlite ? "" : " FOR UPDATE"}`);
          await db.query("UPDATE counter SET n = $1", [Number(row?.["n"]) + 1]);
        });
      await Promise.all(jobs.map(add));
      expect(Number((await backend.rows("SELECT n FROM counter"))[0]?.["n"])).toBe(60);
    });
  });
}
