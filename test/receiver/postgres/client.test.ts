import { Pool, type Client } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { openServerStore } from "../../../receiver/postgres/index.ts";
import { createReceiver, defineHandler } from "../../../receiver/index.ts";
import type { HandlerDatabase } from "../../../receiver/store/port.ts";
import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { newBody, SECRET, signatureFor } from "../helpers/events.ts";
import {
  accept,
  acceptAndClaim,
  claimOne,
  effects,
  event,
  handler,
  jobOf,
  never,
  openWorker,
  writeEffect,
} from "../store-suite/harness.ts";
import { postgresBackend } from "./backend.ts";
import { newDatabase, noServer, query } from "./server.ts";

function clientOf({ client }: HandlerDatabase): Pick<Client, "query"> {
  if (typeof client !== "object" || client === null || !("query" in client)) throw new Error("no client");
  return client as Client;
}

describe.skipIf(noServer())("the pg client of atomically", () => {
  test("writes tables of the app together with done, or not at all", async () => {
    const backend = await postgresBackend();
    await query(
      backend.url,
      "DROP TABLE IF EXISTS orders; CREATE TABLE orders (id text, paid boolean, doc jsonb)",
    );
    const store = await openWorker(backend);
    const [id = ""] = await accept(store, event());
    const job = await claimOne(store);
    const write = async (db: HandlerDatabase) =>
      clientOf(db).query("INSERT INTO orders VALUES ($1, $2, $3)", [id, true, { a: [1] }]);
    const failing = store.jobs.atomically(
      job,
      async (db) => {
        await write(db);
        await clientOf(db).query("SELECT 1 / 0");
      },
      never,
    );
    await expect(failing).rejects.toThrow("division by zero");
    expect(await query(backend.url, "SELECT * FROM orders")).toEqual([]);

    await store.jobs.atomically(job, write, never);
    expect(await query(backend.url, "SELECT * FROM orders")).toEqual([{ id, paid: true, doc: { a: [1] } }]);
    expect(await jobOf(store, id)).toMatchObject({ state: "done" });
    // db.query returns the app's columns as on SQLite.
    expect(
      await store.jobs.query("SELECT paid, doc, '2026-03-01T00:00:00Z'::timestamptz AS at FROM orders"),
    ).toEqual([{ paid: 1, doc: '{"a":[1]}', at: "2026-03-01T00:00:00.000Z" }]);
  });

  test.each(["COMMIT", "begin", "SAVEPOINT s"])("cannot end the transaction: %s", async (sql) => {
    const backend = await postgresBackend();
    const store = await openWorker(backend);
    const [id = ""] = await accept(store, event());
    const job = await claimOne(store);
    const outcome = store.jobs.atomically(
      job,
      async (db) =>
        clientOf(db)
          .query(sql)
          .catch(() => 0),
      never,
    );
    await expect(outcome).rejects.toThrow(/refused here/);
    expect(await jobOf(store, id)).toMatchObject({ state: "running" });
  });
});

test.skipIf(noServer())("a transaction over 5 s is rolled back, and its job continues", async () => {
  const backend = await postgresBackend();
  // Its limit of 5 s is 0.1 s here.
  const clock: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms / 50, run) };
  const store = await openServerStore({
    databaseUrl: backend.url,
    clock,
    isWorker: true,
    onFatal: () => undefined,
  });
  onTestFinished(async () => store.close());
  await store.jobs.begin([handler()], never);
  const job = await acceptAndClaim(store);
  const slow = store.jobs.atomically(
    job,
    async (db) => {
      await writeEffect(db, job);
      await db.query("SELECT pg_sleep(1)");
    },
    never,
  );
  await expect(slow).rejects.toThrow(/took over 5 s and was rolled back/);
  expect(await effects(backend)).toEqual([]);
  expect(await store.jobs.end(job, { kind: "done" })).toBe(true);
});

test.skipIf(noServer())("an app's own pool serves its receiver, which does not end it", async () => {
  const url = await newDatabase();
  const pool = new Pool({ connectionString: url, max: 4 });
  onTestFinished(async () => pool.end());
  const handled: string[] = [];
  const receiver = await createReceiver({
    databaseUrl: url,
    pool,
    signingSecrets: [SECRET],
    environment: { LOG_LEVEL: "silent" },
    handlers: [defineHandler({ name: "all", type: "*", handle: ({ id }) => void handled.push(id) })],
  });
  const body = newBody();
  const headers = { [SIGNATURE_HEADER]: signatureFor(body) };
  const answer = await receiver.fetch(new Request("http://app/webhooks", { method: "POST", body, headers }));
  expect(answer.status).toBe(200);
  await expect.poll(() => handled.length, { timeout: 9_000 }).toBe(1);
  await receiver.stop();
  expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
});
