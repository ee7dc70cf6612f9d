import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { moveInbox } from "../../../receiver/engines/postgres/move/move.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { newDatabase } from "../../helpers/postgres/shared.ts";
import { accept, newEvents } from "../engine-suite/harness.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { opened } from "./opened.ts";
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
  await accept(sqlite, newEvents(3));
  const stored = proxy.holdAnswer("SELECT 3");
  const moving = move();
  await stored.held;
  // The next to answer that it found three looks for what isn't finished, and comes before the comparison.
  const listed = proxy.holdAnswer("SELECT 3");
  stored.letGo();
  await listed.held;
  await accept(sqlite, newEvents(2));
  listed.letGo();
  expect(await moving).toMatchObject({ moved: 3, compared: 3, different: [] });
  expect(await move()).toMatchObject({ moved: 2, alreadyThere: 0, compared: 2, different: [] });
});
