import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { createLedgerVerbs } from "../../../receiver/engines/sqlite/ledger-verbs.ts";
import { accept, handler, newEvent, newEvents } from "../engine-suite/harness.ts";
import { openFiles } from "../helpers/parts.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { signalled, until } from "../helpers/until.ts";
import { workOff } from "../helpers/work-off.ts";

/** More than retention deletes at a time. */
const MANY = 500;

test("acknowledgements and handlers come through between what retention deletes at a time", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  const engine = await openSqliteEngine({ file, clock: systemClock });
  onTestFinished(engine.close);
  let handled = 0;
  const processor = await engine.work.process({
    handlers: [handler()],
    workerId: "test",
    concurrency: 100,
    handle: async () => ({ kind: "done" }),
    onHandled: () => void (handled += 1),
    onTrouble: (error) => {
      throw error;
    },
  });
  onTestFinished(async () => processor.drain(0));
  await accept(engine, newEvents(MANY));
  await handledAre(MANY);

  const pauses = signalled();
  const goOn = signalled();
  const { inbox, db } = openFiles(file);
  const sleep = async (): Promise<void> => {
    pauses.give();
    await goOn.promise;
  };
  const verbs = createLedgerVerbs({ inbox, db, clock: { ...systemClock, sleep } });
  const pruned = verbs.prune({ bodiesOlderThanMs: -60_000, idsOlderThanMs: 1e12 });
  await pauses.promise;
  await accept(engine, [newEvent()]);
  await handledAre(MANY + 1);
  goOn.give();
  // The new one is finished as well by now.
  expect(await pruned).toEqual({ bodies: MANY + 1, ids: 0 });

  async function handledAre(count: number): Promise<void> {
    await until(
      () => handled,
      (is) => is >= count,
    );
  }
});

test("what is requeued after retention has looked at it stays", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  const engine = await openSqliteEngine({ file, clock: systemClock });
  onTestFinished(engine.close);
  const [event, other] = newEvents(2);
  await accept(engine, [event!, other!]);
  const states = await workOff(engine, {
    handlers: [handler({ types: ["of.no.event"] })],
    handle: async () => ({ kind: "done" }),
  });
  expect(states).toMatchObject({ ignored: 2 });

  const { inbox, db } = openFiles(file);
  const requeues = openFiles(file).db;
  const verbs = createLedgerVerbs({ inbox, db, clock: systemClock });
  // It has looked when it answers a promise, and marks what it found in a transaction of its own.
  const pruned = verbs.prune({ bodiesOlderThanMs: -60_000, idsOlderThanMs: 1e12 });
  requeues.exec("UPDATE jobs SET state = 'offered', due_at_ms = 0 WHERE job = 1024");
  expect(await pruned).toEqual({ bodies: 1, ids: 0 });
  expect(await engine.ledger.find(event!.id)).toMatchObject({ state: "pending" });
  expect(await engine.ledger.find(other!.id)).toMatchObject({ state: "pruned" });
});
