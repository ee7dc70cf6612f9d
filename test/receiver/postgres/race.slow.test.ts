import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { RUN_TYPESCRIPT } from "../../helpers/typescript.ts";
import { Pool, TypeOverrides, types } from "pg";
import { createDatabase, naming } from "../../../receiver/engines/postgres/connection.ts";
import { createPrune } from "../../../receiver/engines/postgres/retention.ts";
import { administer } from "../../helpers/postgres/shared.ts";
import { accept, done, newEvent, newEvents } from "../engine-suite/harness.ts";
import { sized } from "../../helpers/run/sizes.ts";
import { newEventId } from "../helpers/events.ts";
import { until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";

const DAY_MS = 86_400_000;

const RACERS = sized("RACERS", { quick: 3, all: 8 });

test("processes that bring the same events at once store each of them once", async () => {
  const { url, rows } = await postgresBackend();
  const ids = Array.from({ length: 100 }, newEventId);
  const racers = await Promise.all(
    Array.from({ length: RACERS }, async (_, turn) => {
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
  ).toEqual([{ events: ids.length, duplicates: ids.length * (RACERS - 1) }]);
});

test("acknowledgements and handlers come through between any two statements of retention", async () => {
  const { url, age } = await postgresBackend();
  const engine = await opened(url);
  const events = newEvents(600);
  await accept(engine, events);
  const { handled } = await driven(engine, done, { concurrency: 100 });
  let expected = events.length;
  const allHandled = async (): Promise<void> => {
    await until(
      () => handled,
      ({ length }) => length === expected,
    );
  };
  await allHandled();
  await age?.(40 * DAY_MS);

  const prune = pruning(url, async () => {
    await accept(engine, [newEvent()]);
    expected += 1;
    await allHandled();
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
  const { processor } = await driven(engine, done, { types: [] });
  await until(
    () => engine.ledger.counts(),
    ({ byState }) => byState.ignored === 2,
  );
  await processor.drain(0);

  const [{ id } = newEvent(), other] = events;
  let requeued: number | undefined;
  const prune = pruning(url, async () => {
    requeued ??= await engine.ledger.requeue([id]);
  });
  const older = { bodiesOlderThanMs: -1_000, idsOlderThanMs: 1_000_000_000 };
  expect((await prune(older)).bodies).toBe(1);
  expect(requeued).toBe(1);
  expect(await engine.ledger.find(id)).toMatchObject({ state: "pending", attempts: 0 });
  expect(await engine.ledger.find(other!.id)).toMatchObject({ state: "pruned" });
});

test("the job of a handler that went while its event was being stored is ignored", async () => {
  const { url } = await postgresBackend();
  const engine = await opened(url);
  const { processor } = await driven(engine, done, { name: "former" });
  await processor.drain(0);
  await driven(engine, done, { name: "present", types: ["another"], workerId: "another" });
  const current = (is: boolean): string =>
    `UPDATE receiver.handlers SET current = ${String(is)} WHERE name = 'former'`;
  // As an intake still saw it that had begun before the worker said which handlers there are.
  await administer(url, current(true));
  const event = newEvent();
  await accept(engine, [event]);
  await administer(url, current(false));
  const found = await until(
    () => engine.ledger.find(event.id),
    (seen) => seen?.state === "ignored",
  );
  expect(found?.jobs).toMatchObject([{ handler: "former", state: "ignored" }]);
});

/** Retention on connections of its own; `between` runs after each of its looks, before it acts on what it saw. */
function pruning(url: string, between: () => Promise<void>): ReturnType<typeof createPrune> {
  const overrides = new TypeOverrides();
  overrides.setTypeParser(types.builtins.INT8, Number);
  const pool = new Pool({ connectionString: url, types: overrides });
  // Its connections may outlive its end a little, until the database goes: idle, the pool tells of it.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  onTestFinished(async () => pool.end());
  const named = naming("receiver");
  const database = createDatabase(pool, (text, values = []) => ({ text: named(text), values }));
  const interrupted = {
    ...database,
    run: async <Row extends object>(text: string, values?: unknown[]) => {
      const rows = await database.run<Row>(text, values);
      await between();
      return rows;
    },
  };
  return createPrune(interrupted, { supervise: async () => undefined });
}
