import { expect, onTestFinished, test } from "vitest";
import { createPool } from "../../../receiver/engines/postgres/connection.ts";
import { loadPackages } from "../../../receiver/engines/postgres/packages.ts";
import { startTrigger } from "../../../receiver/engines/postgres/trigger.ts";
import { postgresBackend } from "./backend.ts";

test("a connection that graphile-worker gives back twice is back once, and ends nothing", async () => {
  const { url } = await postgresBackend();
  const packages = await loadPackages();
  const pool = createPool(packages, { url, purpose: "test", connections: 2, connectTimeoutMs: 5_000 });
  onTestFinished(async () => pool.end());
  const errors: unknown[] = [];
  let returned: Promise<void> | undefined;
  const run: typeof packages.graphile.run = async (options) => {
    // As it does when its line breaks while it stops: each of the two has its own reason to.
    returned = new Promise((resolve) => {
      options.pgPool?.connect((error, _client, release) => {
        errors.push(error);
        for (const reason of [true, false])
          try {
            release(reason);
          } catch (thrown) {
            errors.push(thrown);
          }
        resolve();
      });
    });
    return packages.graphile.run(options);
  };
  const trigger = await startTrigger(
    pool,
    { ...packages, graphile: { ...packages.graphile, run } },
    { wake: () => undefined, onTrouble: (error) => errors.push(error) },
  );
  await returned;
  // The only one beside that which listens: it is there for the next.
  await expect(pool.query("SELECT 1 AS one")).resolves.toMatchObject({ rows: [{ one: 1 }] });
  await trigger.stop();
  expect(errors).toEqual([undefined]);
});
