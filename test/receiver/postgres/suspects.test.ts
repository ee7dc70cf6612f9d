import { expect, test } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { administer } from "../../helpers/postgres/shared.ts";
import { accept, done, newEvent } from "../engine-suite/harness.ts";
import { signalled, until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";

test("a suspect whose turn has come begins once nothing else runs, and nothing begins beside it", async () => {
  const { url } = await postgresBackend();
  let slept = 0;
  const sleep: Clock["sleep"] = async (ms, signal) => {
    slept += 1;
    return systemClock.sleep(ms, signal);
  };
  const engine = await opened(url, { clock: { ...systemClock, sleep } });
  const { processor } = await driven(engine, done);
  await processor.drain(0);
  const [suspect, running, later] = [newEvent(), newEvent(), newEvent()];
  await accept(engine, [suspect]);
  await administer(url, "UPDATE receiver_boss.job SET priority = 2");
  await accept(engine, [running]);
  const begun: string[] = [];
  const goOn = new Map([suspect, running, later].map(({ id }) => [id, signalled()]));
  await driven(engine, async ({ id }) => {
    begun.push(id);
    await goOn.get(id)?.promise;
    return { kind: "done" };
  });
  await until(
    () => begun,
    ({ length }) => length === 1,
  );
  // Once the worker has looked a few times, it has found the suspect, and waits for the other to end.
  const sleptBefore = slept;
  await until(
    () => slept,
    (times) => times > sleptBefore + 3,
  );
  expect(begun).toEqual([running.id]);
  goOn.get(running.id)?.give();
  await until(
    () => begun,
    ({ length }) => length === 2,
  );
  await accept(engine, [later]);
  expect(begun).toEqual([running.id, suspect.id]);
  goOn.get(suspect.id)?.give();
  await until(
    () => begun,
    ({ length }) => length === 3,
  );
  goOn.get(later.id)?.give();
});
