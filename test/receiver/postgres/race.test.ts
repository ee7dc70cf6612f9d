import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { RUN_TYPESCRIPT } from "../../helpers/typescript.ts";
import { newEventId } from "../helpers/events.ts";
import { postgresBackend } from "./backend.ts";

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
