import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { openInboxFile } from "../../../receiver/engines/sqlite/inbox-file.ts";
import { createLedgerVerbs } from "../../../receiver/engines/sqlite/ledger-verbs.ts";
import { openWorkFile, workFileOf } from "../../../receiver/engines/sqlite/work-file.ts";
import { accept, newEvent, newEvents } from "../engine-suite/harness.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { signalled, until } from "../helpers/until.ts";

/** More than retention deletes at a time. */
const MANY = 500;

test("acknowledgements and handlers come through between what retention deletes at a time", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  const retry = { maximumAttempts: 3, backoffMs: () => 0 };
  const engine = await openSqliteEngine({ file, clock: systemClock, retry });
  onTestFinished(engine.close);
  let handled = 0;
  const processor = engine.work.process({
    workerId: "test",
    concurrency: 100,
    handle: async () => ({ kind: "ignored" }),
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
  const inbox = openInboxFile({ file, busyTimeoutMs: 1_000 });
  const db = openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: 1_000 });
  onTestFinished(() => void [inbox, db].map((one) => one.close()));
  const sleep = async (): Promise<void> => {
    pauses.give();
    await goOn.promise;
  };
  const verbs = createLedgerVerbs({ inbox, db, clock: { ...systemClock, sleep } });
  const pruned = verbs.prune(Date.now(), { bodiesOlderThanMs: -60_000, idsOlderThanMs: 1e12 });
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
