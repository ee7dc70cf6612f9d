import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { runReceiver } from "../usage/receiver-in-process.ts";
import { newBody, post } from "./helpers/events.ts";
import { startTestReceiver } from "./helpers/receiver.ts";

test.each([
  ["--handle-again", "2 events are pending, 0 done."],
  ["--consider-handled", "0 events are pending, 2 done."],
])("recover %s begins a lost work file anew, and says what it holds then", async (word, line) => {
  const receiver = await startTestReceiver();
  for (const body of [newBody(), newBody()]) expect((await post(receiver.url, body)).status).toBe(200);
  await receiver.stop();
  const file = receiver.config.databaseFile ?? "";
  rmSync(file.replace(/\.db$/, ".work.db"));
  const environment = { DATABASE_URL: `sqlite:${file}`, SIGNING_SECRET: "whsec_long_enough_for_all" };

  expect(await runReceiver(["inbox", "stats"], environment)).toMatchObject({
    code: 3,
    err: expect.stringContaining(`recover ${word}`),
  });
  expect(await runReceiver(["recover", word], environment)).toMatchObject({ code: 0, out: `${line}\n` });
  // Nothing is lost any more: whatever is said now changes nothing.
  expect((await runReceiver(["recover", "--handle-again"], environment)).out).toBe(`${line}\n`);
});
