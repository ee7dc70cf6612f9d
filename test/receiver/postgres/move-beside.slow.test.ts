import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { moveInbox } from "../../../receiver/engines/postgres/move/move.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { newDatabase } from "../../helpers/postgres/shared.ts";
import { accept, done, newEvents } from "../engine-suite/harness.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
import { driven, opened } from "./opened.ts";
import { proxyTo } from "./proxy.ts";

test("what comes between a move's last event and its comparison is no difference, and goes with the next run", async () => {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  await opened(url);
  const proxy = await proxyTo(url);
  const file = join(temporaryDirectory(), "receiver.db");
  const sqlite = await openSqliteEngine({ file, clock: systemClock });
  onTestFinished(sqlite.close);
  const move = async () =>
    moveInbox({
      file,
      url: proxy.url,
      finish: false,
      onProgress: () => undefined,
      nowMs: Date.now,
    });
  await driven(sqlite, done);
  let taken = 0;
  const finish = async (count: number): Promise<void> => {
    await accept(sqlite, newEvents(count));
    taken += count;
    await until(
      () => sqlite.ledger.counts(),
      ({ byState }) => byState.done === taken,
    );
  };
  await finish(3);
  const stored = proxy.holdAnswer("SELECT 3");
  const moving = move();
  await stored.held;
  // The next to answer one row says how far the move has come, for the comparison.
  const asked = proxy.holdAnswer("SELECT 1");
  stored.letGo();
  await asked.held;
  await finish(2);
  asked.letGo();
  expect(await moving).toMatchObject({ moved: 3, compared: 3, different: [] });
  expect(await move()).toMatchObject({ moved: 2, alreadyThere: 0, compared: 2, different: [] });
});
