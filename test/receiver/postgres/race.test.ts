import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { RUN_TYPESCRIPT } from "../../helpers/typescript.ts";
import { Client, TypeOverrides, types } from "pg";
import { createPrune } from "../../../receiver/engines/postgres/retention.ts";
import { accept, newEvent, newEvents } from "../engine-suite/harness.ts";
import { newEventId } from "../helpers/events.ts";
import { until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";

const DAY_MS = 86_400_000;

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

test("acknowledgements and handlers come through between any two statements of retention", async () => {
  const { url, age } = await postgresBackend();
  const engine = await opened(url);
  const events = newEvents(600);
  await accept(engine, events);
  const { handled } = driven(engine, async () => ({ kind: "ignored" }), { concurrency: 100 });
  let expected = events.length;
  const allHandled = async (): Promise<void> => {
    await until(
      () => handled,
      ({ length }) => length === expected,
    );
  };
  await allHandled();
  await age?.(40 * DAY_MS);

  const client = await connected(url);
  const prune = createPrune(async <Row extends object>(text: string, values?: unknown[]) => {
    const { rows } = await client.query<Row>(text, values);
    await accept(engine, [newEvent()]);
    expected += 1;
    await allHandled();
    return rows;
  });
  expect(await prune({ bodiesOlderThanMs: 30 * DAY_MS, idsOlderThanMs: 400 * DAY_MS })).toEqual({
    bodies: events.length,
    ids: 0,
  });
  // Two deletions at the least: it is not done with one.
  expect(expected).toBeGreaterThan(events.length + 4);
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

  const client = await connected(url);
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

/** A connection past the engine, which takes counts for numbers as the engine's own do. */
async function connected(url: string): Promise<Client> {
  const overrides = new TypeOverrides();
  overrides.setTypeParser(types.builtins.INT8, Number);
  const client = new Client({ connectionString: url, types: overrides });
  await client.connect();
  onTestFinished(async () => client.end());
  return client;
}
