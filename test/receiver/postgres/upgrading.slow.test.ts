import { expect, test } from "vitest";
import { accept, done, handler, newEvent, newEvents, outcomeOf, record } from "../engine-suite/harness.ts";
import { administer } from "../../helpers/postgres/shared.ts";
import { idOf, newBody, newEventId } from "../helpers/events.ts";
import { until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";
import { makeVersion2, storing } from "./version-2.ts";
import { makeVersion3 } from "./version-3.ts";

/** Of the columns of an event's row, what makes it what it is. */
const STATES = {
  fresh: "state = 'pending'",
  retry: "state = 'pending', attempts = 2, due_at = now(), last_error = 'broken'",
  waiting: "state = 'pending', attempts = 1, due_at = now() + interval '1 hour', last_error = 'broken'",
  dead: "state = 'dead', attempts = 10, finished_at = now(), last_error = 'hopeless'",
  done: "state = 'done', attempts = 1, handled = 1, finished_at = now()",
  ignored: "state = 'ignored', attempts = 1, finished_at = now()",
  claimed: "state = 'claimed', attempts = 1, worker = 'alive', token = 1",
  abandoned: "state = 'claimed', attempts = 1, worker = 'gone', token = 1",
};

test("a database that was made before handlers had names keeps what is finished, and hands over the rest with its attempts", async () => {
  const { url, rows } = await postgresBackend();
  const ids = await filled(url);
  const engine = await opened(url);
  const { ledger } = engine;
  expect((await ledger.counts()).byState).toEqual({ pending: 5, claimed: 0, done: 1, ignored: 1, dead: 1 });
  expect(await ledger.find(ids.dead)).toMatchObject({
    state: "dead",
    lastError: "hopeless",
    jobs: [{ handler: "call.completed", state: "dead", attempts: 10 }],
  });
  expect(await ledger.find(ids.done)).toMatchObject({ state: "done", handled: 1, attempts: 1 });
  expect((await ledger.list({ state: "dead" }, { limit: 10 })).map(({ id }) => id)).toEqual([ids.dead]);
  expect((await ledger.list({ state: "pending" }, { limit: 10 })).map(({ id }) => id)).not.toContain(
    ids.done,
  );

  const { handled } = await driven(engine, record, { name: "calls" });
  await until(
    () => handled.map(({ id }) => id).toSorted(),
    (all) => all.join() === [ids.fresh, ids.retry, ids.abandoned].toSorted().join(),
  );
  const attempts = new Map(handled.map(({ id, attempt }) => [id, attempt]));
  expect([attempts.get(ids.fresh), attempts.get(ids.retry), attempts.get(ids.abandoned)]).toEqual([1, 3, 2]);
  // In the hands of a worker that may be alive: it is due when its lease is over.
  const claimed = await ledger.find(ids.claimed);
  expect(claimed).toMatchObject({ state: "pending", attempts: 1 });
  expect((claimed?.nextAttemptAtMs ?? 0) - (await engine.nowMs())).toBeGreaterThan(20_000);
  expect(await ledger.find(ids.waiting)).toMatchObject({
    state: "pending",
    attempts: 1,
    lastError: "broken",
  });
  expect(await ledger.requeue(Object.values(ids))).toBe(2);
  await until(
    () => ledger.counts(),
    ({ byState }) => byState.done === 6,
  );
  expect(await ledger.find(ids.dead)).toMatchObject({ state: "done", handled: 1, attempts: 1 });
  expect(await engine.intake.accept([])).toMatchObject({ ok: true });
  expect(
    await rows("SELECT count(*)::int AS all, count(DISTINCT event_id)::int AS events FROM effects"),
  ).toEqual([{ all: 5, events: 5 }]);
  expect(await rows("SELECT 1 FROM pg_namespace WHERE nspname = 'receiver_jobs'")).toEqual([]);
});

test("what a move had stored ahead, and nothing else, is forgotten where it was upgraded, and comes again", async () => {
  const { url, rows } = await postgresBackend();
  const [ahead, own] = [newBody(), newBody()];
  await makeVersion2(
    url,
    `${storing(ahead, 1)} ${storing(own, 2)}
     INSERT INTO receiver.workers VALUES ('move', NULL, 'infinity');
     INSERT INTO receiver.bookmarks VALUES ('move here', '1'), ('reconcile calls', 'there');
     INSERT INTO receiver.objects VALUES (gen_random_uuid(), 1, true), (gen_random_uuid(), 2, true);
     INSERT INTO receiver.ids VALUES (gen_random_uuid(), 1, 1, 0, true);
     UPDATE receiver.events SET state = 'claimed', worker = 'move' WHERE seq = 1`,
  );
  const engine = await opened(url);
  expect(
    await rows("SELECT seq::int FROM receiver.ids UNION ALL SELECT seq::int FROM receiver.objects"),
  ).toEqual([{ seq: 2 }, { seq: 2 }]);
  expect(await rows("SELECT name FROM receiver.bookmarks")).toEqual([{ name: "reconcile calls" }]);
  const again = [ahead, own].map((body) => newEvent({ id: idOf(body), body }));
  expect(await engine.intake.accept(again)).toEqual({
    ok: true,
    acceptances: [{ duplicate: false }, { duplicate: true }],
  });
});

test("ten processes upgrade a database at once, while events are taken", async () => {
  const { url } = await postgresBackend();
  const ids = await filled(url);
  const engines = await Promise.all(Array.from({ length: 10 }, async () => opened(url)));
  const { handled } = await driven(engines[3]!, async () => ({ kind: "done" }));
  await until(
    () => handled.length,
    (length) => length === 3,
  );
  expect(new Set(handled.map(({ id }) => id))).toEqual(new Set([ids.fresh, ids.retry, ids.abandoned]));
});

test("a handler goes on from the migrations that ran under the type of its events, and no other does", async () => {
  const { url, rows } = await postgresBackend();
  await makeVersion2(
    url,
    `INSERT INTO receiver.migrations VALUES ('handler call.completed', 1), ('handler order.created', 5);
     CREATE TABLE public.orders (event_id text); INSERT INTO public.orders VALUES ('before')`,
  );
  const engine = await opened(url);
  const orders = ["CREATE TABLE orders (event_id text)", "ALTER TABLE orders ADD COLUMN place text"];
  const notes = ["CREATE TABLE notes (event_id text)"];
  const processor = await engine.work.process({
    handlers: [
      handler({ name: "other", types: ["order.created"], migrations: notes }),
      handler({ name: "orders", types: ["call.completed"], migrations: orders }),
      handler({ name: "more", types: ["call.completed"], migrations: ["CREATE TABLE more (event_id text)"] }),
    ],
    handle: async (claim) =>
      outcomeOf(
        claim.atomically(claim.signal)(async (db) =>
          db.query("INSERT INTO orders VALUES ($1, 'x')", [claim.id]),
        ),
      ),
    workerId: "worker",
    concurrency: 1,
    onHandled: () => undefined,
    onTrouble: () => undefined,
  });
  await processor.drain(0);
  expect(await rows("SELECT event_id, place FROM public.orders")).toEqual([
    { event_id: "before", place: null },
  ]);
  expect(
    await rows("SELECT tablename FROM pg_tables WHERE schemaname = 'receiver_handlers' ORDER BY 1"),
  ).toEqual([{ tablename: "more" }, { tablename: "notes" }]);
});

test.for([
  ["has got a key", undefined, () => "one"],
  ["has none any more", () => "one", undefined],
] as const)(
  "a handler that %s when the tables of jobs are upgraded is handed what waits",
  async ([, before, key]) => {
    const { url } = await postgresBackend();
    const first = await driven(await opened(url), done, { key: before });
    await first.processor.drain(0);
    await administer(url, "UPDATE receiver_boss.version SET version = version - 1");
    const engine = await opened(url);
    const events = newEvents(2);
    await accept(engine, events);
    const { handled, troubles } = await driven(engine, done, { key, concurrency: 2 });
    await until(
      () => [...handled, ...troubles],
      ({ length }) => length >= events.length,
    );
    expect(troubles).toEqual([]);
    expect(handled.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  },
);

test("what waited for its key, for its turn or for another attempt before keys were told by priority goes in order", async () => {
  const { url, rows } = await postgresBackend();
  const key = (): string => "one";
  const former = await opened(url);
  await (await driven(former, done, { key })).processor.drain(0);
  const events = newEvents(4);
  for (const event of events) await accept(former, [event]);
  const states = ["another attempt", "its turn", "its key", "its key"] as const;
  await makeVersion3(
    url,
    events.map(({ id }, at) => ({ id, for: states[at]! })),
    "one",
  );
  const engine = await opened(url);
  expect((await engine.ledger.counts()).byState.pending).toBe(4);
  const { handled, troubles } = await driven(engine, done, { key, concurrency: 4 });
  await until(
    () => handled,
    ({ length }) => length === events.length,
  );
  expect(handled.map(({ id, attempt }) => [id, attempt])).toEqual(
    events.map(({ id }, at) => [id, at === 0 ? 2 : 1]),
  );
  expect(troubles).toEqual([]);
  expect(
    await rows("SELECT indexname FROM pg_indexes WHERE indexname ~ 'events_dead|receiver_keyless'"),
  ).toEqual([{ indexname: "events_dead" }]);
});

test("a database in which nobody said which handlers were still there goes on, while a worker of then runs", async () => {
  const { url } = await postgresBackend();
  const engine = await opened(url);
  const former = await driven(engine, done, { workerId: "former" });
  await administer(
    url,
    `ALTER TABLE receiver.handlers DROP COLUMN seen; ALTER TABLE receiver.facts DROP COLUMN one;
     UPDATE receiver.migrations SET applied = 4 WHERE name = 'receiver'`,
  );
  const present = await driven(await opened(url), done, { workerId: "present" });
  const events = newEvents(20);
  for (const event of events) await accept(engine, [event]);
  await until(
    () => [...former.handled, ...present.handled],
    ({ length }) => length === events.length,
  );
  expect((await engine.ledger.counts()).byState).toMatchObject({
    done: events.length,
    pending: 0,
    ignored: 0,
  });
});

/** An event in each of the states, two workers, and what they hold. */
async function filled(url: string): Promise<Record<keyof typeof STATES, string>> {
  const ids = Object.keys(STATES).map((state, index) => ({ state, id: newEventId(), seq: index + 1 }));
  await makeVersion2(
    url,
    `INSERT INTO receiver.workers VALUES ('alive', NULL, now() + interval '30 s'), ('gone', NULL, now() - interval '1 s');
    ${ids
      .map(
        ({ state, id, seq }) => `
      INSERT INTO receiver.ids VALUES ('${id.slice(4)}', ${String(seq)}, extract(epoch FROM now()) / 86400);
      INSERT INTO receiver.events (seq, id, type, reconciled, body)
        VALUES (${String(seq)}, '${id.slice(4)}', 'call.completed', false, '{}');
      UPDATE receiver.events SET ${STATES[state as keyof typeof STATES]} WHERE seq = ${String(seq)};`,
      )
      .join("")}`,
  );
  return Object.fromEntries(ids.map(({ state, id }) => [state, id])) as Record<keyof typeof STATES, string>;
}
