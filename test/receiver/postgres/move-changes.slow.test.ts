import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { Claim, Engine, Handled, JobHandler, Outcome } from "../../../receiver/engine.ts";
import { moveInbox, type MoveReport } from "../../../receiver/engines/postgres/move/move.ts";
import { HANDLERS_PER_EVENT } from "../../../receiver/engines/sqlite/handlers.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { workFileOf } from "../../../receiver/engines/sqlite/work-file.ts";
import { administer, newDatabase } from "../../helpers/postgres/shared.ts";
import { accept, done, handler, newEvent, newEvents } from "../engine-suite/harness.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
import { driven, opened } from "./opened.ts";

/** More than a move takes in two goes, which are of 250 each. */
const MANY = 600;

test("what is requeued once it has moved is handled where it is requeued, and what came of it goes along", async () => {
  const { sqlite, postgres, move } = await setUp();
  const [mended, hopeless, left] = newEvents(3);
  const unwanted = newEvent({ type: "unwanted" });
  await accept(sqlite, [mended!, hopeless!, left!, unwanted]);
  const first = await driven(sqlite, dead, { types: ["call.completed"] });
  await finished(sqlite, 4);
  expect(await move(false)).toMatchObject({ moved: 4, waiting: 0 });
  await sqlite.ledger.requeue([mended!.id, hopeless!.id]);
  await first.processor.drain(0);
  const second = await driven(sqlite, async ({ id }) => (id === mended!.id ? done() : dead()), {
    types: ["call.completed"],
    workerId: "second",
  });
  await until(
    () => sqlite.ledger.counts(),
    ({ byState }) => byState.done === 1 && byState.dead === 2,
  );
  await second.processor.drain(0);
  await sqlite.ledger.requeue([left!.id, unwanted.id]);
  expect(await move(false)).toMatchObject({ moved: 0, waiting: 2 });
  expect(await postgres.ledger.find(mended!.id)).toMatchObject({ state: "done", handled: 1 });
  expect(await postgres.ledger.find(left!.id)).toMatchObject({ state: "dead" });
  expect(await move(true)).toMatchObject({ moved: 0, handedOver: 2, different: [] });
  expect((await postgres.ledger.counts()).byState).toMatchObject({
    done: 1,
    dead: 1,
    pending: 2,
    ignored: 0,
  });

  const { handled, processor } = await driven(postgres, dead);
  await until(
    () => handled,
    ({ length }) => length === 2,
  );
  expect(handled.map(({ id, attempt }) => `${id} ${String(attempt)}`).toSorted()).toEqual(
    [`${left!.id} 1`, `${unwanted.id} 1`].toSorted(),
  );
  await processor.drain(0);
  // What was handled here meanwhile is not brought again.
  expect(await move(true)).toMatchObject({ moved: 0, handedOver: 0 });
  expect((await postgres.ledger.counts()).byState).toMatchObject({ done: 1, dead: 3, pending: 0 });
});

test("what was given up before handlers had names stays so, however often it comes", async () => {
  const { file, sqlite, postgres, move } = await setUp();
  const [waits, event] = newEvents(2);
  await accept(sqlite, [event!]);
  const { processor } = await driven(sqlite, dead);
  await finished(sqlite, 1);
  await processor.drain(0);
  const work = new Database(workFileOf(file));
  work.exec(`UPDATE jobs SET job = job - job % ${String(HANDLERS_PER_EVENT)}`);
  work.close();
  await accept(sqlite, [waits!]);
  for (const moved of [1, 0]) {
    expect(await move(false)).toMatchObject({ moved, waiting: 1, different: [] });
    expect(await postgres.ledger.find(event!.id)).toMatchObject({ state: "dead", lastError: "hopeless" });
  }
});

test("the steps of a dead job go along, so that a requeue goes on from them", async () => {
  const { sqlite, postgres, move } = await setUp();
  const [event, waits] = newEvents(2);
  await accept(sqlite, [event!, waits!]);
  const former = await driven(
    sqlite,
    async ({ steps, id }) => {
      await steps.record("mail", '"sent"');
      return id === event!.id ? dead() : { kind: "failed", error: "not yet" };
    },
    { backoffMs: () => 3_600_000 },
  );
  await until(
    () => former.handled,
    ({ length }) => length === 2,
  );
  await former.processor.drain(0);
  await move(true);
  const found: (string | undefined)[] = [];
  await driven(postgres, async ({ steps }) => {
    found.push(await steps.find("mail"));
    return { kind: "done" };
  });
  await postgres.ledger.requeue([event!.id]);
  await until(
    () => found,
    ({ length }) => length === 1,
  );
  expect(found).toEqual(['"sent"']);
});

test("handlers with a key that are there before the rest arrives are handed it, in its order", async () => {
  const { sqlite, postgres, move } = await setUp();
  const events = newEvents(3);
  await accept(sqlite, events);
  const former = await driven(sqlite, async () => ({ kind: "failed", error: "not yet" }), {
    backoffMs: () => 0,
    maximumAttempts: 1_000,
    key: () => "one",
  });
  await until(
    () => former.handled,
    ({ length }) => length > 0,
  );
  await former.processor.drain(0);
  const { handled } = await driven(postgres, done, { key: () => "one" });
  await move(true);
  await until(
    () => handled,
    ({ length }) => length === events.length,
  );
  expect(handled.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
});

test("a job of a handler that is gone is ignored there too, and has it back when that is", async () => {
  const { sqlite, postgres, move } = await setUp();
  const event = newEvent();
  await accept(sqlite, [event]);
  const former = await driven(sqlite, async () => ({ kind: "failed", error: "not yet" }), { name: "gone" });
  await until(
    () => former.handled,
    ({ length }) => length > 0,
  );
  await former.processor.drain(0);
  await move(true);
  const present = await driven(postgres, done, { name: "present" });
  expect(await postgres.ledger.find(event.id)).toMatchObject({
    state: "ignored",
    jobs: [{ handler: "gone" }],
  });
  await present.processor.drain(0);
  const { handled } = await driven(postgres, done, { name: "gone", workerId: "again" });
  expect(await postgres.ledger.requeue([event.id])).toBe(1);
  await until(
    () => handled,
    ({ length }) => length === 1,
  );
});

test("of an event's jobs those that are done stay so, and those that wait go on, however often the move breaks off", async () => {
  const { file, url, sqlite, postgres, move } = await setUp();
  const events = newEvents(MANY);
  await accept(sqlite, events);
  const handlers = ["mail", "crm"].map((name) => handler({ name, backoffMs: () => 3_600_000 }));
  const former = await both(sqlite, handlers, async ({ handler: name }) =>
    name === "mail" ? done() : { kind: "failed", error: "not yet" },
  );
  await until(
    () => former.handled,
    ({ length }) => length === 2 * MANY,
  );
  await former.processor.drain(0);
  let pages = 0;
  const broken = new Error("as if it were killed");
  const killed = moveInbox({
    file,
    url,
    finish: true,
    nowMs: Date.now,
    onProgress: () => {
      pages += 1;
      if (pages === 2) throw broken;
    },
  });
  await expect(killed).rejects.toBe(broken);
  // Workers that are there already handle what has come, while the rest comes.
  const { handled } = await both(postgres, handlers, done);
  expect(await move(true)).toMatchObject({ moved: MANY - 500, different: [] });
  await administer(url, "UPDATE receiver_boss.job SET start_after = now() WHERE state = 'retry'");
  await until(
    () => postgres.ledger.counts(),
    ({ byState }) => byState.done === MANY,
  );
  expect(handled).toHaveLength(MANY);
  expect(new Set(handled.map((one) => `${one.handler} ${String(one.attempt)} ${one.outcome}`))).toEqual(
    new Set(["crm 2 done"]),
  );
});

async function both(engine: Engine, handlers: JobHandler[], handle: (claim: Claim) => Promise<Outcome>) {
  const handled: Handled[] = [];
  const processor = await engine.work.process({
    handlers,
    handle,
    workerId: "both",
    concurrency: 8,
    onHandled: (one) => void handled.push(one),
    onTrouble: () => undefined,
  });
  onTestFinished(async () => processor.drain(0).catch(() => undefined));
  return { handled, processor };
}

async function setUp(): Promise<{
  file: string;
  url: string;
  sqlite: Engine;
  postgres: Engine;
  move: (finish: boolean) => Promise<MoveReport>;
}> {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  const file = join(temporaryDirectory(), "receiver.db");
  const sqlite = await openSqliteEngine({ file, clock: systemClock });
  onTestFinished(sqlite.close);
  const move = async (finish: boolean): Promise<MoveReport> =>
    moveInbox({ file, url, finish, onProgress: () => undefined, nowMs: Date.now });
  return { file, url, sqlite, postgres: await opened(url), move };
}

async function dead(): Promise<Outcome> {
  return { kind: "dead", error: "hopeless" };
}

async function finished(engine: Engine, count: number): Promise<void> {
  await until(
    () => engine.ledger.counts(),
    ({ byState }) => byState.done + byState.dead + byState.ignored === count,
  );
}
