import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { Engine, Processor } from "../../../receiver/engine.ts";
import { accept, done, handler, newEvent } from "../engine-suite/harness.ts";
import { administer } from "../../helpers/postgres/shared.ts";
import { until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { opened } from "./opened.ts";

test("an old worker that starts again beside newer ones takes no handler away", async () => {
  const { url, rows } = await postgresBackend();
  const engine = await opened(url);
  await started(engine, "new", ["one", "two"]);
  // From the start, so that one that starts a moment later knows of it.
  expect(await rows("SELECT id FROM receiver.workers")).toEqual([{ id: "new" }]);
  const old = await started(await opened(url), "old", ["one"]);
  expect(await namesOf(engine)).toEqual(["one", "two"]);
  const event = newEvent();
  await accept(engine, [event]);
  await finished(engine, event.id, ["one done", "two done"]);
  await old.drain(0);
  await started(await opened(url), "old again", ["one"]);
  expect(await namesOf(engine)).toEqual(["one", "two"]);
});

test("a handler that only older workers have goes on until they are gone for ten minutes, and is ignored then", async () => {
  const { url } = await postgresBackend();
  const engine = await opened(url);
  const passing = passingClock();
  const old = await started(engine, "old", ["one", "former"]);
  await started(await opened(url, { clock: passing.clock }), "new", ["one"]);
  const event = newEvent();
  await accept(engine, [event]);
  await finished(engine, event.id, ["former done", "one done"]);
  await administer(url, "UPDATE receiver.handlers SET seen = seen - interval '9 minutes'");
  await old.drain(0);
  const waiting = newEvent();
  await accept(engine, [waiting]);
  await finished(engine, waiting.id, ["former pending", "one done"]);

  await beats(url, passing, "9 minutes 50 seconds");
  expect(await namesOf(engine)).toEqual(["former", "one"]);
  await beats(url, passing, "11 seconds");
  expect(await namesOf(engine)).toEqual(["one"]);
  await finished(engine, waiting.id, ["former ignored", "one done"]);
  const later = newEvent();
  await accept(engine, [later]);
  await finished(engine, later.id, ["one done"]);
});

test("a worker that comes back has its handlers there again", async () => {
  const { url } = await postgresBackend();
  const engine = await opened(url);
  const passing = passingClock();
  await started(await opened(url, { clock: passing.clock }), "new", ["one"]);
  const client = await connected(url);
  await leaseIn(client);
  await client.query("UPDATE receiver.handlers SET current = false, seen = now() - interval '2 minutes'");
  expect(await namesOf(engine)).toEqual([]);
  passing.pass(10_000);
  await until(
    () => namesOf(engine),
    (names) => names.join() === "one",
  );
});

test("a lease is extended, whoever has the handlers' rows in hand", async () => {
  const { url } = await postgresBackend();
  const passing = passingClock();
  await started(await opened(url, { clock: passing.clock }), "new", ["one"]);
  const [client, other] = [await connected(url), await connected(url)];
  const before = await leaseIn(client);
  await client.query("UPDATE receiver.handlers SET seen = now() - interval '2 minutes'");
  await other.query("BEGIN; SELECT FROM receiver.handlers FOR UPDATE");
  passing.pass(10_000);
  expect((await nextLease(client, before)) > before).toBe(true);
});

/** A worker with these handlers, each of which does what it is asked at once. */
async function started(engine: Engine, workerId: string, names: readonly string[]): Promise<Processor> {
  const processor = await engine.work.process({
    handlers: names.map((name) => handler({ name })),
    handle: done,
    workerId,
    concurrency: 4,
    onHandled: () => undefined,
    onTrouble: () => undefined,
  });
  onTestFinished(async () => processor.drain(0));
  return processor;
}

async function namesOf({ ledger }: Engine): Promise<string[]> {
  return (await ledger.handlers()).map(({ name }) => name);
}

async function finished(engine: Engine, id: string, jobs: readonly string[]): Promise<void> {
  await until(
    async () => (await engine.ledger.find(id))?.jobs.map(({ handler, state }) => `${handler} ${state}`),
    (states) => states?.join() === jobs.join(),
  );
}

/** A clock that can be put forward: what happens every ten seconds happens when ten have passed. */
function passingClock() {
  let passedMs = 0;
  return {
    clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + passedMs },
    pass: (ms: number) => void (passedMs += ms),
  };
}

/** Lets this time pass since workers were seen last, and the one that lives give a sign of life. */
async function beats(url: string, passing: ReturnType<typeof passingClock>, time: string): Promise<void> {
  const client = await connected(url);
  const before = await leaseIn(client);
  await client.query(`UPDATE receiver.handlers SET seen = seen - interval '${time}'`);
  passing.pass(10_000);
  await nextLease(client, before);
}

async function nextLease(client: Client, before: string): Promise<string> {
  return until(
    async () => leaseIn(client),
    (now) => now !== before,
  );
}

/** Until when the worker's lease runs, once it has one. */
async function leaseIn(client: Client): Promise<string> {
  return until(
    async () => {
      const { rows } = await client.query<{ until: string }>(
        "SELECT max(lease_until)::text AS until FROM receiver.workers",
      );
      return rows[0]?.until ?? "";
    },
    (until) => until !== "",
  );
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(async () => client.end());
  return client;
}
