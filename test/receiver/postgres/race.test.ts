import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { RUN_TYPESCRIPT } from "../../helpers/typescript.ts";
import { Client } from "pg";
import { createPrune } from "../../../receiver/engines/postgres/retention.ts";
import { accept, newEvent } from "../engine-suite/harness.ts";
import { newEventId } from "../helpers/events.ts";
import { until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";

test("eight processes that bring the same events at once store each of them once", async () => {
  const { url, rows } = await postgresBackend();
  const ids = Array.from({ length: 100 }, newEventId);
  const racers = await Promise.all(
    Array.from({ length: 8 }, async (_, turn) => {
      const entry = fileURLToPath(new URL("./racing-process.ts", import.meta.url));
      const child = fork(entry, [url, String(turn), ...ids], { execArgv: [...RUN_TYPESCRIPT] });
      onTestFinished(() => void child.kill("SIGKILL"));
      await once(child, "message");
      return child;
    }),
  );
  const counts = racers.map(async (child): Promise<number> => {
    const answered = once(child, "message");
    child.send("go");
    return Number((await answered)[0]);
  });
  const fresh = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  expect(fresh).toBe(ids.length);
  expect(
    await rows("SELECT count(*)::int AS events, sum(duplicates)::int AS duplicates FROM receiver.events"),
  ).toEqual([{ events: 100, duplicates: 700 }]);
});

test("an event that is requeued between being found finished and being pruned stays", async () => {
  const { url } = await postgresBackend();
  const engine = await opened(url);
  const events = [newEvent(), newEvent()];
  await accept(engine, events);
  const { handled, processor } = driven(engine, async () => ({ kind: "ignored" }));
  await until(
    () => handled,
    ({ length }) => length === 2,
  );
  await processor.drain(0);

  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(async () => client.end());
  const [{ id } = newEvent(), other] = events;
  let requeued: number | undefined;
  const prune = createPrune(async <Row extends object>(text: string, values?: unknown[]) => {
    const { rows } = await client.query<Row>(text, values);
    requeued ??= await engine.ledger.requeue([id]);
    return rows;
  });
  const older = { bodiesOlderThanMs: -1_000, idsOlderThanMs: 1_000_000_000 };
  expect((await prune(older)).bodies).toBe(1);
  expect(requeued).toBe(1);
  expect(await engine.ledger.find(id)).toMatchObject({ state: "pending", attempts: 0 });
  expect(await engine.ledger.find(other!.id)).toMatchObject({ state: "pruned" });
});
