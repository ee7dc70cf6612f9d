import { expect, test } from "vitest";
import { z } from "zod";
import { mountedPackages } from "../helpers/mounted-packages.ts";
import { postgresBackend } from "../receiver/postgres/backend.ts";
import { noServer, query } from "../receiver/postgres/server.ts";
import { accept, claimOne, event, jobOf, never, openWorker } from "../receiver/store-suite/harness.ts";

type Insert = { values: (row: object) => { execute: () => Promise<unknown> } };
const exampleSchema = z.object({
  kyselyOn: z.custom<(client: unknown) => { insertInto: (table: string) => Insert }>(
    (value) => typeof value === "function",
  ),
});

test.skipIf(noServer())("Kysely writes the app's own table together with done, or not at all", async () => {
  const packages = await mountedPackages();
  if (!packages) return;
  const { kyselyOn } = exampleSchema.parse(await packages.load("./kysely.mjs"));
  const backend = await postgresBackend();
  await query(
    backend.url,
    "DROP TABLE IF EXISTS paid; CREATE TABLE paid (id text, amount numeric, at timestamptz)",
  );
  const store = await openWorker(backend);
  const [id = ""] = await accept(store, event());
  const job = await claimOne(store);
  const write = async ({ client }: { client?: unknown }): Promise<unknown> =>
    kyselyOn(client)
      .insertInto("paid")
      .values({ id, amount: 12.5, at: new Date(0) })
      .execute();
  const failing = store.jobs.atomically(
    job,
    async (db) => {
      await write(db);
      throw new Error("changed my mind");
    },
    never,
  );
  await expect(failing).rejects.toThrow("changed my mind");
  expect(await query(backend.url, "SELECT * FROM paid")).toEqual([]);
  await store.jobs.atomically(job, write, never);
  expect(await query(backend.url, "SELECT * FROM paid")).toEqual([{ id, amount: "12.5", at: new Date(0) }]);
  expect(await jobOf(store, id)).toMatchObject({ state: "done" });
});
